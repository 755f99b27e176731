package buffer

import (
	"context"

	engine "dragoman/internal/edit/buffer"
	"dragoman/internal/edit/text"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// open needs the right to write for a file that isn't there (core.md §3).
func (s *Space) open(ctx context.Context, c op.Call, p core.BufferOpenParams) (r core.BufferOpenResult, err error) {
	path, err := s.paths.Resolve(p.Raw())
	if err != nil {
		return r, err
	}
	if !s.paths.Exists(path) {
		if err := c.Access.Allows(core.BufferOpen.Name, op.Write); err != nil {
			return r, err
		}
	}
	i, existing, err := s.set.Open(ctx, engine.OpenParams{
		Path: path, Encoding: p.Encoding, Force: p.Force, Client: c.Client,
	})
	if err != nil {
		return r, wireError(err)
	}
	return core.BufferOpenResult{BufferInfo: info(i), Existing: existing}, nil
}

func (s *Space) scratch(_ context.Context, c op.Call, p core.BufferNewParams) (core.BufferInfo, error) {
	return infoOr(s.set.NewScratch(engine.NewParams{Name: p.Name, Text: p.Text, Client: c.Client}))
}

func (s *Space) close(_ context.Context, c op.Call, p core.BufferCloseParams) (core.None, error) {
	if p.Discard || p.All {
		if err := c.Access.Allows(core.BufferClose.Name, op.Write); err != nil {
			return core.None{}, err
		}
	}
	return core.None{}, wireError(s.set.Close(engine.CloseParams{
		Buffer: engine.ID(p.Buffer), Client: c.Client, Discard: p.Discard, All: p.All,
	}))
}

func (s *Space) list(context.Context, op.Call, core.None) (core.BufferListResult, error) {
	r := core.BufferListResult{Buffers: []core.BufferInfo{}}
	for _, i := range s.set.List() {
		r.Buffers = append(r.Buffers, info(i))
	}
	return r, nil
}

func (s *Space) get(_ context.Context, _ op.Call, p core.BufferParams) (core.BufferInfo, error) {
	return infoOr(s.set.Get(engine.ID(p.Buffer)))
}

func (s *Space) save(ctx context.Context, c op.Call, p core.BufferSaveParams) (core.BufferInfo, error) {
	path := p.Raw()
	if path != "" {
		var err error
		if path, err = s.paths.Resolve(path); err != nil {
			return core.BufferInfo{}, err
		}
	}
	return infoOr(s.set.Save(ctx, engine.SaveParams{
		Buffer: engine.ID(p.Buffer), Path: path, Force: p.Force, Origin: origin(c), Unit: unit(c),
	}))
}

func (s *Space) reload(ctx context.Context, c op.Call, p core.BufferReloadParams) (core.BufferInfo, error) {
	return infoOr(s.set.Reload(ctx, engine.ReloadParams{
		Buffer: engine.ID(p.Buffer), Discard: p.Discard, Origin: origin(c),
	}))
}

func (s *Space) keep(ctx context.Context, _ op.Call, p core.BufferKeepParams) (core.BufferInfo, error) {
	return infoOr(s.set.Keep(ctx, engine.KeepParams{Buffer: engine.ID(p.Buffer), Hash: p.Hash}))
}

func (s *Space) resolve(_ context.Context, c op.Call, p core.BufferResolveParams) (core.BufferInfo, error) {
	return infoOr(s.set.Resolve(engine.ResolveParams{
		Buffer: engine.ID(p.Buffer), Take: engine.Take(p.Take), Edits: toEdits(p.Edits),
		Unit: unit(c), Origin: origin(c),
	}))
}

func (s *Space) setPath(_ context.Context, _ op.Call, p core.BufferSetPathParams) (core.BufferInfo, error) {
	path, err := s.paths.Resolve(p.Raw())
	if err != nil {
		return core.BufferInfo{}, err
	}
	return infoOr(s.set.SetPath(engine.PathParams{Buffer: engine.ID(p.Buffer), Path: path}))
}

func (s *Space) setFormat(_ context.Context, c op.Call, p core.BufferSetFormatParams) (core.BufferInfo, error) {
	return infoOr(s.set.SetFormat(engine.FormatParams{
		Buffer: engine.ID(p.Buffer), Encoding: p.Encoding, BOM: p.BOM, EOL: engine.EOL(p.EOL),
		FinalNewline: p.FinalNewline, Origin: origin(c),
	}))
}

func (s *Space) checkDisk(ctx context.Context, _ op.Call, p core.BufferCheckDiskParams) (core.BufferCheckDiskResult, error) {
	var ids []engine.ID
	for _, id := range p.Buffers {
		ids = append(ids, engine.ID(id))
	}
	r := core.BufferCheckDiskResult{Stale: []core.StaleBuffer{}}
	stale, err := s.set.CheckDisk(ctx, ids)
	for _, b := range stale {
		r.Stale = append(r.Stale, core.StaleBuffer{
			Buffer: string(b.Buffer), PathOut: core.NewPath(b.Path), Gone: b.Gone, Hash: textOrNull(b.Hash),
		})
	}
	return r, wireError(err)
}

// diff compares with the old side that against names.
func (s *Space) diff(ctx context.Context, _ op.Call, p core.BufferDiffParams) (r core.BufferDiffResult, err error) {
	id := engine.ID(p.Buffer)
	old, err := s.oldSide(ctx, id, p.Against)
	if err != nil {
		return r, wireError(err)
	}
	d, err := s.set.Diff(id, old)
	if err != nil {
		return r, wireError(err)
	}
	return core.BufferDiffResult{Hunks: hunks(d.Hunks), Unified: d.Unified, Truncated: d.Truncated}, nil
}

func (s *Space) oldSide(ctx context.Context, id engine.ID, a core.Against) (old text.Text, err error) {
	switch {
	case a.Buffer != nil:
		old, _, err = s.set.Snapshot(engine.ID(*a.Buffer))
		return old, err
	case a.Text != nil:
		return s.set.LiteralLike(id, *a.Text)
	case a.Word == "disk":
		return s.set.DiskText(id)
	}
	if s.heads == nil {
		return old, op.Unsupported("there is no git here")
	}
	i, err := s.set.Get(id)
	if err != nil {
		return old, err
	}
	if i.Path == "" {
		return old, op.NoPath(string(id))
	}
	raw, err := s.heads.Head(ctx, i.Path)
	return engine.Literal(string(raw)), err
}

func (s *Space) recover(ctx context.Context, c op.Call, p core.BufferRecoverParams) (core.BufferInfo, error) {
	if p.Buffer != "" {
		return infoOr(s.set.Recover(engine.ID(p.Buffer), origin(c)))
	}
	items, err := s.set.Recoveries()
	if err != nil {
		return core.BufferInfo{}, wireError(err)
	}
	for _, it := range items {
		if it.ID != p.ID || it.Path == "" {
			continue
		}
		opened, err := s.open(ctx, c, core.BufferOpenParams{PathIn: core.NewPath(it.Path).In()})
		if err != nil {
			return core.BufferInfo{}, err
		}
		return infoOr(s.set.Recover(engine.ID(opened.Buffer), origin(c)))
	}
	i, err := s.set.RecoverScratch(p.ID, c.Client)
	if err != nil {
		return core.BufferInfo{}, itemError(err)
	}
	return info(i), nil
}

func (s *Space) forget(_ context.Context, _ op.Call, p core.BufferForgetParams) (core.None, error) {
	return core.None{}, itemError(s.set.Forget(p.ID))
}

func (s *Space) recoveries(context.Context, op.Call, core.None) (core.BufferRecoveriesResult, error) {
	r := core.BufferRecoveriesResult{Items: []core.RecoveryItem{}}
	items, err := s.set.Recoveries()
	for _, it := range items {
		r.Items = append(r.Items, core.RecoveryItem{
			ID: it.ID, PathOrNull: core.NewPathOrNull(it.Path), Name: it.Name,
			SavedAt: it.SavedAt.UTC(), Edits: int64(it.Edits),
		})
	}
	return r, wireError(err)
}
