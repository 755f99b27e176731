package buffer

import (
	"context"

	engine "dragoman/internal/edit/buffer"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func (s *Space) text(_ context.Context, c op.Call, p core.BufferTextParams) (r core.BufferTextResult, err error) {
	ep := engine.TextParams{Buffer: engine.ID(p.Buffer), Revision: p.Revision, Unit: unit(c)}
	if p.Range != nil {
		rg := toRange(*p.Range)
		ep.Range = &rg
	}
	if p.From != nil {
		from := toPosition(*p.From)
		ep.From = &from
	}
	if p.MaxBytes != nil {
		ep.MaxBytes = int(min(*p.MaxBytes, engine.MaxPageBytes))
	}
	t, err := s.set.Text(ep)
	if err != nil {
		return r, wireError(err)
	}
	r = core.BufferTextResult{
		Text: t.Text, Revision: t.Revision, Start: position(t.Start), End: position(t.End), EOF: t.EOF,
	}
	if t.Next != nil {
		next := position(*t.Next)
		r.Next = &next
	}
	return r, nil
}

func (s *Space) edit(_ context.Context, c op.Call, p core.BufferEditParams) (r core.BufferEditResult, err error) {
	done, err := s.set.Edit(engine.EditParams{
		Buffer: engine.ID(p.Buffer), Edits: toEdits(p.Edits), Unit: unit(c),
		Revision: p.Revision, Coalesce: p.Coalesce, Origin: origin(c),
	})
	if err != nil {
		return r, wireError(err)
	}
	return core.BufferEditResult{Revision: done.Revision, Ranges: ranges(done.Ranges)}, nil
}

func (s *Space) undo(_ context.Context, c op.Call, p core.BufferUndoParams) (core.BufferUndoResult, error) {
	return undone(s.set.Undo(undoParams(c, p)))
}

func (s *Space) redo(_ context.Context, c op.Call, p core.BufferUndoParams) (core.BufferUndoResult, error) {
	return undone(s.set.Redo(undoParams(c, p)))
}

func undoParams(c op.Call, p core.BufferUndoParams) engine.UndoParams {
	return engine.UndoParams{Buffer: engine.ID(p.Buffer), Revision: p.Revision, Origin: origin(c)}
}

func undone(r engine.UndoResult, err error) (core.BufferUndoResult, error) {
	return core.BufferUndoResult{Revision: r.Revision, Changed: r.Changed}, wireError(err)
}

func (s *Space) find(ctx context.Context, c op.Call, p core.BufferFindParams) (r core.BufferFindResult, err error) {
	ep := engine.FindParams{
		Buffer: engine.ID(p.Buffer), Query: p.Query, Options: options(p.Options),
		Backwards: p.Backwards, Unit: unit(c),
	}
	if p.From != nil {
		from := toPosition(*p.From)
		ep.From = &from
	}
	f, err := s.set.Find(ctx, ep)
	if err != nil {
		return r, wireError(err)
	}
	r = core.BufferFindResult{Found: f.Found, Wrapped: f.Wrapped}
	if f.Found {
		at := rangeOf(f.Range)
		r.Range = &at
	}
	return r, nil
}

func (s *Space) matches(ctx context.Context, c op.Call, p core.BufferMatchesParams) (r core.BufferMatchesResult, err error) {
	ep := engine.MatchesParams{
		Buffer: engine.ID(p.Buffer), Query: p.Query, Options: options(p.Options), Unit: unit(c),
	}
	if p.Max != nil {
		if *p.Max < 1 {
			return r, op.BadRequest("max", op.ReasonOutOfRange)
		}
		ep.Max = *p.Max
	}
	m, err := s.set.Matches(ctx, ep)
	if err != nil {
		return r, wireError(err)
	}
	return core.BufferMatchesResult{Count: len(m.Ranges), Ranges: ranges(m.Ranges), Truncated: m.Truncated}, nil
}

func (s *Space) replaceAll(ctx context.Context, c op.Call, p core.BufferReplaceAllParams) (r core.BufferReplaceAllResult, err error) {
	done, err := s.set.ReplaceAll(ctx, engine.ReplaceParams{
		Buffer: engine.ID(p.Buffer), Query: p.Query, With: p.With, Options: options(p.Options),
		Revision: p.Revision, Origin: origin(c),
	})
	return core.BufferReplaceAllResult{Count: done.Count, Revision: done.Revision}, wireError(err)
}
