package buffer

import (
	"errors"
	"fmt"

	engine "dragoman/internal/edit/buffer"
	"dragoman/internal/edit/diff"
	"dragoman/internal/edit/match"
	"dragoman/internal/edit/text"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// wireError turns the engine's errors into the protocol's.
func wireError(err error) error {
	var e *engine.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	w := op.Fail(op.Code(e.Code), "%s", e.Message)
	if e.Key != "" {
		w = w.With("key", e.Key)
	}
	if e.Reason != "" {
		w = w.With("reason", e.Reason)
	}
	if e.Position != nil {
		w = w.With("position", position(*e.Position))
	}
	if e.Disk != nil {
		w = w.With("disk", disk(e.Disk))
	}
	switch e.Code {
	case engine.NotFound:
		w = w.With("what", "path")
	case engine.Stale:
		w = w.With("revision", e.Revision)
	case engine.TooLarge:
		w = w.With("limit", e.Limit).With("size", e.Size)
	case engine.NotText:
		if e.Char != 0 {
			w = w.With("char", string(e.Char))
		}
	case engine.IO:
		w = w.With("errno", e.Errno())
	}
	return w
}

// itemError is wireError for what recovery ids name.
func itemError(err error) error {
	var e *op.Error
	if errors.As(wireError(err), &e) && e.Code == op.CodeNotFound {
		return e.With("what", "item")
	}
	return wireError(err)
}

func position(p text.Position) core.Position {
	return core.Position{Line: int64(p.Line), Character: int64(p.Character)}
}

// toPosition reads a position; what no text can have stays outside of it.
func toPosition(p core.Position) text.Position {
	return text.Position{Line: int(p.Line), Character: int(p.Character)}
}

func rangeOf(r engine.Range) core.Range {
	return core.Range{Start: position(r.Start), End: position(r.End)}
}

func toRange(r core.Range) engine.Range {
	return engine.Range{Start: toPosition(r.Start), End: toPosition(r.End)}
}

func ranges(rs []engine.Range) []core.Range {
	out := make([]core.Range, len(rs))
	for i, r := range rs {
		out[i] = rangeOf(r)
	}
	return out
}

func toEdits(edits []core.Edit) []engine.Edit {
	out := make([]engine.Edit, len(edits))
	for i, e := range edits {
		out[i] = engine.Edit{Range: toRange(e.Range), Text: e.Text}
	}
	return out
}

func options(o core.FindOptions) match.Options {
	return match.Options{Regex: o.Regex, IgnoreCase: o.IgnoreCase, WholeWord: o.WholeWord}
}

// textOrNull is null for "".
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func disk(d *engine.Disk) *core.DiskState {
	if d == nil {
		return nil
	}
	return &core.DiskState{
		Hash: textOrNull(d.Hash), Mtime: d.Mtime.UTC(), Size: d.Size,
		Mode: fmt.Sprintf("%04o", uint32(d.Mode.Perm())),
	}
}

func info(i engine.Info) core.BufferInfo {
	w := core.BufferInfo{
		Buffer: string(i.Buffer), PathOrNull: core.NewPathOrNull(i.Path), Name: core.NewPath(i.Name).Path,
		Revision: i.Revision, SavedRevision: i.SavedRevision, Modified: i.Modified,
		LineCount: int64(i.LineCount), Bytes: int64(i.Bytes), Encoding: i.Encoding, BOM: i.BOM,
		EOL: core.EOL(i.EOL), Mixed: i.Mixed, FinalNewline: i.FinalNewline, New: i.New, ReadOnly: i.ReadOnly,
		Language: textOrNull(i.Language), Disk: disk(i.Disk), State: core.BufferState(i.State),
		Clients: i.Clients,
	}
	if w.Clients == nil {
		w.Clients = []string{}
	}
	if r := i.Recovery; r != nil {
		w.Recovery = &core.RecoveryInfo{
			ID: r.ID, SavedAt: r.SavedAt.UTC(), Edits: int64(r.Edits), BaseChanged: r.BaseChanged,
		}
	}
	return w
}

// infoOr is the result of the many calls that answer with the info.
func infoOr(i engine.Info, err error) (core.BufferInfo, error) {
	if err != nil {
		return core.BufferInfo{}, wireError(err)
	}
	return info(i), nil
}

func originOf(o engine.Origin) core.Origin {
	return core.Origin{
		Kind: core.OriginKind(o.Kind), Client: o.Client, Run: o.Run, Session: o.Session,
		ToolCallID: o.ToolCall, Certainty: core.Certainty(o.Certainty), Runs: o.Runs,
		Reason: core.ChangeReason(o.Reason),
	}
}

func hunks(hs []diff.Hunk) []core.Hunk {
	out := make([]core.Hunk, len(hs))
	for i, h := range hs {
		out[i] = core.Hunk{
			OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines,
			Lines: make([]core.HunkLine, len(h.Lines)),
		}
		for j, l := range h.Lines {
			out[i].Lines[j] = core.HunkLine{Op: string(rune(l.Op)), Text: l.Text, NoEOL: l.NoEOL}
		}
	}
	return out
}
