package buffer

import (
	"slices"

	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/text"
)

// FormatParams are the params of SetFormat; nil members stay as they are.
type FormatParams struct {
	Buffer       ID
	Encoding     string
	BOM          *bool
	EOL          EOL
	FinalNewline *bool
	Origin       Origin
}

// SetFormat changes how a buffer is written, as one undo step
// (buffer.setFormat). Only FinalNewline changes the text that the wire shows.
func (s *Set) SetFormat(p FormatParams) (Info, error) {
	if p.EOL != "" && p.EOL != LF && p.EOL != CRLF {
		return Info{}, badRequest("eol", "not_one_of", "%q is no line end", p.EOL)
	}
	b, err := s.locked(p.Buffer)
	if err != nil {
		return Info{}, err
	}
	defer b.mu.Unlock()
	mark := formatMark{before: b.format, preferredBefore: b.preferred, preferredAfter: b.preferred}
	if mark.after, err = p.format(b.format); err != nil {
		return Info{}, err
	}
	if p.EOL != "" {
		mark.preferredAfter = p.EOL
	}
	edits := b.formatEditsLocked(p)
	if len(edits) == 0 && mark.after == mark.before && mark.preferredAfter == mark.preferredBefore {
		return b.infoLocked(), nil
	}
	b.commitLocked(edits, commit{
		origin: p.Origin.because("format"), mark: mark, exact: true,
		settle: func() { b.format, b.preferred = mark.after, mark.preferredAfter },
	})
	return b.infoLocked(), nil
}

// format gives the encoding and mark that p asks for.
func (p FormatParams) format(f charset.Format) (charset.Format, error) {
	if p.Encoding != "" {
		name, err := charset.Canonical(p.Encoding)
		if err != nil {
			return f, diskError("", err)
		}
		f.Encoding = name
		f.BOM = f.BOM && charset.HasBOM(name)
	}
	if p.BOM != nil {
		if *p.BOM && !charset.HasBOM(f.Encoding) {
			return f, badRequest("bom", "encoding", "%s has no byte order mark", f.Encoding)
		}
		f.BOM = *p.BOM
	}
	return f, nil
}

// formatEditsLocked gives the edits for line ends: one over all lines, since
// one a line would cost more memory than the text.
func (b *Buffer) formatEditsLocked(p FormatParams) []text.Edit {
	view := b.store.View()
	var edits []text.Edit
	end := view.Len()
	last := view.FinalNewline()
	if p.FinalNewline != nil && last && !*p.FinalNewline {
		// All line ends at the end go; an empty text has none either.
		for end > 0 && text.IsLineEnd(view.ByteAt(end-1)) {
			end--
		}
	}
	if m := view.Metrics(); p.EOL == LF && m.CRLF > 0 || p.EOL == CRLF && m.CRLF < m.Lines {
		b := view.Append(nil, 0, end)
		for i, c := range b {
			if text.IsLineEnd(c) {
				b[i] = p.EOL.byte()
			}
		}
		edits = append(edits, text.Edit{End: end, Text: b})
	}
	if end < view.Len() {
		edits = append(edits, text.Edit{Start: end, End: view.Len()})
	}
	if p.FinalNewline != nil && *p.FinalNewline && !last && view.Len() > 0 {
		eol := p.EOL
		if eol == "" {
			eol = eolOf(view.Metrics(), b.preferred)
		}
		edits = append(edits, text.Edit{Start: end, End: end, Text: []byte{eol.byte()}})
	}
	return slices.Clip(edits)
}
