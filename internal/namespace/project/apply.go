package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"slices"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/text"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A sum is a hash as the wire has it.
type sum struct{ hash.Hash }

func newHash() sum { return sum{sha256.New()} }

// String is sha256:HEX of what was written.
func (s sum) String() string { return "sha256:" + hex.EncodeToString(s.Sum(nil)) }

func (s *Space) apply(_ context.Context, c op.Call, p core.ProjectApplyReplaceParams) (op.Work[core.ProjectApplyReplaceResult], error) {
	v, ok := s.previews.get(p.Preview)
	if !ok {
		return op.Work[core.ProjectApplyReplaceResult]{}, op.NotFound("preview", p.Preview)
	}
	return op.Work[core.ProjectApplyReplaceResult]{Do: func(ctx context.Context, r op.Run) (core.ProjectApplyReplaceResult, error) {
		out := core.ProjectApplyReplaceResult{Failed: []core.FailedFile{}}
		for _, want := range p.Paths {
			if !slices.ContainsFunc(v.files, func(f *previewFile) bool { return f.named(want) }) {
				return out, op.NotFound("path", want)
			}
		}
		for i, f := range v.files {
			if p.Paths != nil && !slices.ContainsFunc(p.Paths, f.named) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return out, err
			}
			if err := s.applyFile(ctx, c, r.ID(), f); err != nil {
				e := codeOf(err, f.path)
				out.Failed = append(out.Failed, core.FailedFile{Path: core.NewPath(f.path).Path, Code: e.Code, Message: e.Message})
			} else {
				out.Applied++
			}
			r.Progress(int64(i+1), int64(len(v.files)), "")
		}
		return out, nil
	}}, nil
}

// named reports whether a client means this file: by its path as the preview
// told it, by the one relative to its root, or by the buffer of a scratch one.
func (f *previewFile) named(path string) bool {
	if f.path == "" {
		return path == string(f.buffer)
	}
	return path == f.path || path == core.NewPath(f.path).Path || path == relative(f.root, f.path)
}

func (s *Space) applyFile(ctx context.Context, c op.Call, run string, f *previewFile) error {
	id := f.buffer
	if f.path != "" {
		id, _ = s.Buffers.ByPath(f.path)
	}
	if id != "" {
		return s.applyToBuffer(c, run, id, f)
	}
	t, format, hash, err := s.load(f.path, f.format.Encoding)
	if err != nil {
		return err
	}
	if hash != f.hash {
		return op.Conflict(op.ConflictDiskChanged, "%s isn't what the preview was made of", f.path)
	}
	store := text.NewStore(t, 0)
	if err := store.Apply(f.edits, text.Step{}); err != nil {
		return err
	}
	o := core.ClientOrigin(c, "replace")
	o.Run = run
	err = s.Files.Rewrite(ctx, f.path, f.hash, o, func(w io.Writer) error {
		return charset.Write(w, store.Snapshot(), format)
	})
	if e, known := op.AsError(err); err != nil && known && e.Code == op.CodeExists {
		return op.Conflict(op.ConflictDiskChanged, "%s changed just now", f.path)
	}
	return err
}

// applyToBuffer edits an open buffer whose text the preview was made of.
func (s *Space) applyToBuffer(c op.Call, run string, id buffer.ID, f *previewFile) error {
	info, err := s.Buffers.Get(id)
	if err != nil {
		return err
	}
	t, revision, err := s.Buffers.Snapshot(id)
	if err != nil {
		return err
	}
	if id != f.buffer || revision != f.revision {
		hash, err := hashText(t, charset.Format{Encoding: info.Encoding, BOM: info.BOM})
		if err != nil || hash != f.hash {
			return op.Stale(revision)
		}
	}
	edits := make([]buffer.Edit, len(f.edits))
	for i, e := range f.edits {
		edits[i] = buffer.Edit{
			Range: buffer.Range{Start: t.Position(e.Start, text.UTF8), End: t.Position(e.End, text.UTF8)},
			Text:  text.WireString(e.Text),
		}
	}
	_, err = s.Buffers.Edit(buffer.EditParams{
		Buffer: id, Edits: edits, Unit: text.UTF8, Revision: &revision,
		Origin: buffer.Origin{
			Kind: string(core.OriginClient), Client: c.Client, Run: run, Certainty: string(core.Exact), Reason: "replace",
		},
	})
	return err
}
