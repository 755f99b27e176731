package project

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/match"
	"dragoman/internal/edit/text"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Limits of previews (core.md §6).
const (
	keepPreview = 10 * time.Minute
	maxPreviews = 16
)

// A preview is a replacement that was computed and not applied yet.
type preview struct {
	made  time.Time
	files []*previewFile
}

// A previewFile is one file of a preview. edits are in the store's form and
// sorted.
type previewFile struct {
	path, root string
	buffer     buffer.ID
	revision   int64
	hash       string
	format     charset.Format
	edits      []text.Edit
}

// previews are those that are kept.
type previews struct {
	mu  sync.Mutex
	all map[string]*preview
}

func (p *previews) put(v *preview) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expireLocked()
	for len(p.all) >= maxPreviews {
		oldest := ""
		for id, v := range p.all {
			if oldest == "" || v.made.Before(p.all[oldest].made) {
				oldest = id
			}
		}
		delete(p.all, oldest)
	}
	if p.all == nil {
		p.all = map[string]*preview{}
	}
	id := "p" + rand.Text()
	p.all[id] = v
	return id
}

func (p *previews) get(id string) (*preview, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expireLocked()
	v, ok := p.all[id]
	return v, ok
}

func (p *previews) expireLocked() {
	for id, v := range p.all {
		if time.Since(v.made) >= keepPreview {
			delete(p.all, id)
		}
	}
}

func (s *Space) replace(_ context.Context, _ op.Call, p core.ProjectReplaceParams) (op.Work[core.ProjectReplaceResult], error) {
	q, err := s.query(p.Query, p.Options, p.Globs, nil, p.Buffers, "")
	if err != nil {
		return op.Work[core.ProjectReplaceResult]{}, err
	}
	q.most = maxMatches
	return op.Work[core.ProjectReplaceResult]{Do: func(ctx context.Context, r op.Run) (core.ProjectReplaceResult, error) {
		v := &previewing{searching: newSearching(s, q, r), with: p.With, preview: &preview{made: time.Now()}}
		v.each = v.file
		if err := v.everywhere(ctx); err != nil {
			if err == errEnough {
				err = op.TooLarge("the preview", maxMatches, maxMatches+1)
			}
			return core.ProjectReplaceResult{}, err
		}
		return v.result(), nil
	}}, nil
}

// A previewing is one preview on its way.
type previewing struct {
	*searching
	with    string
	preview *preview
}

// file computes the edits of a file with matches from its text as it is kept,
// each line with its own end.
func (v *previewing) file(f core.SearchedFile, path string, _ []byte, _ []match.Range) {
	one, t, err := v.read(f, path)
	if err != nil {
		v.skip(path, codeOf(err, path))
		return
	}
	v.edits(one, t)
	if len(one.edits) == 0 {
		return
	}
	f.Hash = one.hash
	if v.take(len(one.edits)) < len(one.edits) {
		return
	}
	v.tellEdits(f, t, one.edits)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.preview.files = append(v.preview.files, one)
}

// read gives the text that edits are computed on.
func (v *previewing) read(f core.SearchedFile, path string) (*previewFile, text.Text, error) {
	one := &previewFile{path: path, root: f.Root, buffer: buffer.ID(f.Buffer)}
	if one.buffer != "" {
		info, err := v.s.Buffers.Get(one.buffer)
		if err != nil {
			return nil, text.Text{}, err
		}
		one.format = charset.Format{Encoding: info.Encoding, BOM: info.BOM}
		t, revision, err := v.s.Buffers.Snapshot(one.buffer)
		if err == nil {
			one.revision = revision
			// What the encoding can't hold isn't on the disk either.
			one.hash, _ = hashText(t, one.format)
		}
		return one, t, err
	}
	t, format, hash, err := v.s.load(path, "")
	one.format, one.hash = format, hash
	return one, t, err
}

func (v *previewing) edits(f *previewFile, t text.Text) {
	end := byte('\n')
	if m := t.Metrics(); m.CRLF > m.Lines-m.CRLF {
		end = text.CRLF
	}
	expand := buffer.Expander(t, v.q.pattern, v.with, v.q.options)
	_ = buffer.Scan(context.Background(), t, v.q.pattern, 0, func(start, stop int) bool {
		f.edits = append(f.edits, text.Edit{Start: start, End: stop, Text: text.FromWire(expand(start, stop), end)})
		return len(f.edits) <= v.q.most
	})
}

// tellEdits sends the edits of a file in batches.
func (v *previewing) tellEdits(f core.SearchedFile, t text.Text, edits []text.Edit) {
	for len(edits) > 0 {
		n, size := 0, 0
		for n < len(edits) && n < batchMatches && size < batchBytes {
			size += len(edits[n].Text) + edits[n].End - edits[n].Start
			n++
		}
		v.emitEdits(f, t, edits[:n])
		edits = edits[n:]
	}
}

func (v *previewing) emitEdits(f core.SearchedFile, t text.Text, batch []text.Edit) {
	run := v.r.ID()
	m := core.ProjectEdits.ByUnit(func(u op.Unit) core.ProjectEditsParams {
		p := core.ProjectEditsParams{Run: run, File: &f, Edits: make([]core.PreviewEdit, len(batch))}
		for i, e := range batch {
			p.Edits[i] = core.PreviewEdit{
				Range: core.Range{Start: position(t, e.Start, u), End: position(t, e.End, u)},
				Old:   string(t.AppendWire(nil, e.Start, e.End)), Text: text.WireString(e.Text),
			}
		}
		return p
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sent += int64(len(batch))
	v.r.Bulk(m, op.Mark{Next: v.sent})
}

func position(t text.Text, off int, u op.Unit) core.Position {
	p := t.Position(off, text.Unit(u))
	return core.Position{Line: int64(p.Line), Character: int64(p.Character)}
}

func (v *previewing) result() core.ProjectReplaceResult {
	slices.SortFunc(v.preview.files, func(a, b *previewFile) int {
		if c := strings.Compare(a.path, b.path); c != 0 {
			return c
		}
		return strings.Compare(string(a.buffer), string(b.buffer))
	})
	r := core.ProjectReplaceResult{Files: []core.PreviewFile{}}
	for _, f := range v.preview.files {
		r.Files = append(r.Files, core.PreviewFile{
			Path: core.NewPath(f.path).Path, Buffer: string(f.buffer), Hash: f.hash, Count: len(f.edits),
		})
		r.Matches += len(f.edits)
	}
	r.Preview = v.s.previews.put(v.preview)
	return r
}

// load reads a file whole: its text, format and hash.
func (s *Space) load(path, encoding string) (text.Text, charset.Format, string, error) {
	f, err := s.files.Open(path)
	if err != nil {
		return text.Text{}, charset.Format{}, "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return text.Text{}, charset.Format{}, "", err
	}
	t, format, err := charset.Load(f, st.Size, charset.Options{Encoding: encoding})
	if err != nil {
		return t, format, "", err
	}
	hash, err := hashText(t, format)
	return t, format, hash, err
}

// hashText is the hash of the bytes that a text is on disk.
func hashText(t text.Text, f charset.Format) (string, error) {
	h := newHash()
	if err := charset.Write(h, t, f); err != nil {
		return "", err
	}
	return h.String(), nil
}
