package turns

import (
	"bytes"
	"context"
	"fmt"
	iofs "io/fs"
	"slices"

	"dragoman/internal/edit/changes"
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/checkpoint"
	"dragoman/internal/edit/diff"
	"dragoman/internal/edit/text"
	buffers "dragoman/internal/namespace/buffer"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Bind binds agent.changes and agent.revert.
func (t *Tracker) Bind(m *op.Mux) {
	core.AgentChanges.Handle(m, t.changes)
	core.AgentRevert.Stream(m, t.revert)
}

func (t *Tracker) changes(ctx context.Context, _ op.Call, p core.AgentChangesParams) (core.AgentChangesResult, error) {
	r := core.AgentChangesResult{Complete: true, Files: []core.ChangedFile{}}
	runs := []string{p.Run}
	if p.Session != "" {
		if runs = t.o.Ledger.Runs(p.Session); len(runs) == 0 {
			return r, op.NotFound("session", p.Session)
		}
	} else {
		r.Run = &p.Run
	}
	paths, err := t.resolve(p.Paths)
	if err != nil {
		return r, err
	}
	if err := t.drain(ctx); err != nil {
		return r, err
	}
	var first, last changes.Turn
	for i, run := range runs {
		turn, ok := t.o.Ledger.Turn(run)
		if !ok {
			return r, op.NotFound("run", run)
		}
		if i == 0 {
			first = turn
		}
		last = turn
		r.Complete = r.Complete && turn.Ended && turn.Complete
	}
	if last.HeadAfter != "" && first.HeadBefore != last.HeadAfter {
		r.Git = &core.GitHeads{HeadBefore: first.HeadBefore, HeadAfter: last.HeadAfter}
	}
	for _, f := range t.o.Ledger.Files(runs...) {
		if paths == nil || slices.Contains(paths, f.Path) || slices.Contains(paths, f.From) {
			r.Files = append(r.Files, t.changed(f))
		}
	}
	return r, nil
}

// resolve gives the real paths of params; nil for none.
func (t *Tracker) resolve(raw []string) ([]string, error) {
	var paths []string
	for _, p := range raw {
		real, err := t.o.Roots.Resolve(t.o.Roots.Abs(p))
		if err != nil {
			return nil, op.IO(err, p)
		}
		paths = append(paths, real)
	}
	return paths, nil
}

// changed is a file as the wire has it.
func (t *Tracker) changed(f changes.File) core.ChangedFile {
	at := core.NewPath(f.Path)
	c := core.ChangedFile{
		Path: at.Path, PathBytes: at.PathBytes, Kind: string(f.Kind), Certainty: core.Certainty(f.Certainty),
		Before: version(f.Before()), After: version(f.After()), Hunks: []core.Hunk{}, Mixed: f.Mixed,
		OverwrittenBy: f.OverwrittenBy, Why: f.Why(),
	}
	if f.From != "" {
		c.From = core.NewPath(f.From).Path
	}
	if id, ok := t.o.Buffers.ByPath(f.Path); ok {
		c.Buffer = string(id)
	}
	for _, p := range f.Pairs {
		before, err1 := t.content(p.Before)
		after, err2 := t.content(p.After)
		if err1 != nil || err2 != nil {
			if c.Why == "" {
				c.Why = "unavailable"
			}
			continue
		}
		if isBinary(before) || isBinary(after) {
			c.Binary = true
			continue
		}
		hs, _ := diff.Hunks(textOf(before), textOf(after))
		c.Hunks = append(c.Hunks, buffers.Hunks(hs)...)
	}
	if c.Binary {
		c.Hunks = []core.Hunk{}
	}
	c.Revertible = c.Why == ""
	return c
}

func version(v *changes.Version) *core.FileVersion {
	if v == nil {
		return nil
	}
	return &core.FileVersion{Hash: v.Hash, Size: v.Size, Mode: modeText(v.Mode)}
}

func modeText(m iofs.FileMode) string { return fmt.Sprintf("%04o", m.Perm()) }

// content gives the bytes of a version; none for no file.
func (t *Tracker) content(v *changes.Version) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	if v.Why != "" {
		return nil, checkpoint.ErrUnavailable
	}
	return t.o.Store.Get(v.Hash)
}

func isBinary(b []byte) bool {
	return bytes.IndexByte(b[:min(len(b), charset.BinaryProbe)], 0) >= 0
}

// textOf is the text of a file's bytes, binary or not.
func textOf(b []byte) text.Text {
	t, _, err := charset.Load(bytes.NewReader(b), int64(len(b)), charset.Options{Binary: charset.AllowBinary})
	if err != nil {
		return text.Text{}
	}
	return t
}
