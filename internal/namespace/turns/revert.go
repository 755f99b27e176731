package turns

import (
	"bytes"
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"slices"
	"time"

	"dragoman/internal/edit/attribute"
	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/changes"
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/diff"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/text"
	buffers "dragoman/internal/namespace/buffer"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A conflict is why a file isn't taken back.
type conflict struct {
	reason string
	hunks  []diff.Hunk
}

// Error names the reason.
func (c *conflict) Error() string { return "not taken back: " + c.reason }

// errAlready says that a file is as it was before.
var errAlready = errors.New("as before already")

func (t *Tracker) revert(_ context.Context, c op.Call, p core.AgentRevertParams) (op.Work[core.AgentRevertResult], error) {
	none := op.Work[core.AgentRevertResult]{}
	turn, ok := t.o.Ledger.Turn(p.Run)
	if !ok {
		return none, op.NotFound("run", p.Run)
	}
	t.mu.Lock()
	f := t.runs[p.Run]
	active := f != nil && f.Ended.IsZero()
	t.mu.Unlock()
	if active {
		return none, op.Busy(op.BusyRunning, "run %s is still running", p.Run)
	}
	return op.Work[core.AgentRevertResult]{Session: turn.Session, Do: func(ctx context.Context, r op.Run) (core.AgentRevertResult, error) {
		paths, err := t.resolve(p.Paths)
		if err != nil {
			return core.AgentRevertResult{}, err
		}
		v := &reverting{
			t: t, force: p.Force, paths: paths, owner: attribute.Verdict{Kind: "client", Certainty: attribute.Exact, Run: r.ID()},
			origin: core.Origin{Kind: core.OriginClient, Client: c.Client, Run: r.ID(), Certainty: core.Exact, Reason: "revert"},
		}
		t.follow(r.ID())
		defer t.End(context.WithoutCancel(ctx), r.ID())
		return v.all(ctx, p.Run)
	}}, nil
}

// follow follows a run of ours, which has changes of its own.
func (t *Tracker) follow(run string) {
	t.o.Ledger.Begin(changes.Turn{Run: run, At: time.Now()})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[run] = &following{Run: attribute.Run{ID: run, Kind: "client"}, began: map[string]time.Time{}}
}

// A reverting is one agent.revert.
type reverting struct {
	t      *Tracker
	force  bool
	paths  []string
	owner  attribute.Verdict
	origin core.Origin
}

func (v *reverting) all(ctx context.Context, run string) (core.AgentRevertResult, error) {
	r := core.AgentRevertResult{Reverted: []string{}, Conflicts: []core.RevertConflict{}, Already: []string{}}
	if err := v.t.o.Watcher.Sync(ctx); err != nil {
		return r, err
	}
	if err := v.t.drain(ctx); err != nil {
		return r, err
	}
	for _, f := range slices.Backward(v.t.o.Ledger.Files(run)) {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if v.paths != nil && !slices.Contains(v.paths, f.Path) && !slices.Contains(v.paths, f.From) {
			continue
		}
		path := core.NewPath(f.Path).Path
		var no *conflict
		switch err := v.file(ctx, f); {
		case err == nil:
			r.Reverted = append(r.Reverted, path)
		case errors.Is(err, errAlready):
			r.Already = append(r.Already, path)
		case errors.As(err, &no):
			r.Conflicts = append(r.Conflicts, core.RevertConflict{Path: path, Reason: no.reason, Hunks: buffers.Hunks(no.hunks)})
		case ctx.Err() != nil:
			return r, ctx.Err()
		default:
			// The others go on; what the disk refuses is a file that changed.
			v.t.o.Log.Warn("a file couldn't be taken back", "err", err)
			r.Conflicts = append(r.Conflicts, core.RevertConflict{Path: path, Reason: "changed"})
		}
	}
	return r, nil
}

// file takes one file back.
func (v *reverting) file(ctx context.Context, f changes.File) error {
	if f.Certainty == attribute.Ambiguous && v.paths == nil {
		return &conflict{reason: "ambiguous"}
	}
	switch f.Kind {
	case changes.Created:
		return v.created(ctx, f)
	case changes.Deleted:
		return v.deleted(ctx, f)
	case changes.Renamed:
		return v.renamed(ctx, f)
	}
	return v.changed(ctx, f.Path, f.Pairs)
}

// now is what is at a path, nil for nothing.
func (v *reverting) now(path string) (*changes.Version, error) {
	e, err := v.t.read(path, nil)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, nil
	}
	return &e.Version, err
}

// unsaved reports whether a person's text of a path is in no file.
func (v *reverting) unsaved(path string) bool {
	id, ok := v.t.o.Buffers.ByPath(path)
	if !ok {
		return false
	}
	info, err := v.t.o.Buffers.Get(id)
	return err == nil && info.Modified
}

func (v *reverting) created(ctx context.Context, f changes.File) error {
	now, err := v.now(f.Path)
	switch {
	case err != nil:
		return err
	case now == nil:
		return errAlready
	case !v.force && (!changes.SameBytes(now, f.After()) || v.unsaved(f.Path)):
		return &conflict{reason: "changed"}
	}
	return v.t.o.FS.Discard(ctx, f.Path, v.origin)
}

func (v *reverting) deleted(ctx context.Context, f changes.File) error {
	before := f.Before()
	now, err := v.now(f.Path)
	switch {
	case errors.Is(err, file.ErrNotRegular), err == nil && now != nil && !changes.SameBytes(now, before) && !v.force:
		return &conflict{reason: "exists"}
	case err != nil:
		return err
	case changes.SameBytes(now, before):
		return errAlready
	}
	content, err := v.t.content(before)
	if err != nil {
		return &conflict{reason: "unavailable"}
	}
	if now != nil {
		if err := v.t.o.FS.Discard(ctx, f.Path, v.origin); err != nil {
			return err
		}
	}
	return v.recreate(ctx, f.Path, before.Mode, content)
}

func (v *reverting) recreate(ctx context.Context, path string, mode iofs.FileMode, content []byte) error {
	err := v.t.o.FS.Recreate(ctx, path, mode, v.origin, writing(content))
	if err == nil {
		err = v.look(ctx, path)
	}
	return err
}

// look has an open buffer take in what was written.
func (v *reverting) look(ctx context.Context, path string) error {
	id, ok := v.t.o.Buffers.ByPath(path)
	if !ok {
		return nil
	}
	return v.t.o.Buffers.Look(ctx, id, v.engine())
}

func (v *reverting) engine() buffer.Origin {
	return buffer.Origin{
		Kind: string(v.origin.Kind), Client: v.origin.Client, Run: v.origin.Run, Certainty: string(v.origin.Certainty),
		Reason: string(v.origin.Reason),
	}
}

func writing(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

func (v *reverting) renamed(ctx context.Context, f changes.File) error {
	there, err := v.now(f.From)
	if err != nil {
		return err
	}
	here, err := v.now(f.Path)
	switch {
	case err != nil:
		return err
	case there != nil && here == nil && changes.SameBytes(there, f.Before()):
		return errAlready
	case there != nil:
		return &conflict{reason: "exists"}
	case here == nil:
		return &conflict{reason: "changed"}
	}
	if err := v.changed(ctx, f.Path, f.Pairs); err != nil && !errors.Is(err, errAlready) {
		return err
	}
	return v.t.o.FS.Move(ctx, f.Path, f.From, v.origin)
}

// changed takes pairs of a content back, the newest first.
func (v *reverting) changed(ctx context.Context, path string, pairs []changes.Pair) error {
	for _, p := range pairs {
		if _, err := v.t.content(p.Before); err != nil {
			return &conflict{reason: "unavailable"}
		}
		if _, err := v.t.content(p.After); err != nil {
			return &conflict{reason: "unavailable"}
		}
	}
	before := pairs[0].Before
	now, err := v.now(path)
	switch {
	case err != nil:
		return err
	case now == nil:
		return &conflict{reason: "changed"}
	}
	if v.force {
		return v.forced(ctx, path, before)
	}
	if id, ok := v.t.o.Buffers.ByPath(path); ok {
		err = v.throughBuffer(ctx, id, pairs)
	} else {
		err = v.onDisk(ctx, path, now, pairs)
	}
	// The mode goes back only if it is still the run's.
	if after := pairs[len(pairs)-1].After; before != nil && after != nil && before.Mode != after.Mode && now.Mode == after.Mode &&
		(err == nil || errors.Is(err, errAlready)) {
		return v.t.o.FS.Chmod(ctx, path, before.Mode, v.origin)
	}
	return err
}

// forced takes the content before; what is there goes to the trash, with a
// person's unsaved text in it.
func (v *reverting) forced(ctx context.Context, path string, before *changes.Version) error {
	content, err := v.t.content(before)
	if err != nil {
		return &conflict{reason: "unavailable"}
	}
	if id, ok := v.t.o.Buffers.ByPath(path); ok && v.unsaved(path) {
		if _, err := v.t.o.Buffers.Save(ctx, buffer.SaveParams{Buffer: id, Force: true, Origin: v.engine()}); err != nil {
			return err
		}
	}
	if err := v.t.o.FS.Discard(ctx, path, v.origin); err != nil {
		return err
	}
	return v.recreate(ctx, path, before.Mode, content)
}

// onDisk writes a file that nobody has open, over the bytes that were merged.
func (v *reverting) onDisk(ctx context.Context, path string, now *changes.Version, pairs []changes.Pair) error {
	content, err := v.merged(now, pairs)
	if err != nil {
		return err
	}
	return v.t.o.FS.Rewrite(ctx, path, now.Hash, v.origin, writing(content))
}

// merged is what a file is to hold.
func (v *reverting) merged(now *changes.Version, pairs []changes.Pair) ([]byte, error) {
	if len(pairs) == 1 && changes.SameBytes(now, pairs[0].Before) {
		return nil, errAlready
	}
	if len(pairs) == 1 && changes.SameBytes(now, pairs[0].After) {
		return v.t.content(pairs[0].Before)
	}
	content, err := v.t.content(now)
	if err != nil {
		return nil, &conflict{reason: "unavailable"}
	}
	if isBinary(content) {
		return nil, &conflict{reason: "changed"}
	}
	ours, format, err := charset.Load(bytes.NewReader(content), int64(len(content)), charset.Options{})
	if err != nil {
		return nil, err
	}
	back, err := v.takeBack(ours, format.Encoding, pairs)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = charset.Write(&out, back, format)
	return out.Bytes(), err
}

// takeBack merges the pairs out of a text: base is what the run left, theirs
// what it found (documents.md rule 12).
func (v *reverting) takeBack(ours text.Text, encoding string, pairs []changes.Pair) (text.Text, error) {
	now := ours
	for _, p := range slices.Backward(pairs) {
		after, err := v.text(p.After, encoding)
		if err != nil {
			return now, err
		}
		before, err := v.text(p.Before, encoding)
		if err != nil {
			return now, err
		}
		edits, ok := diff.Merge3(after, now, before)
		if !ok {
			hunks, _ := diff.Hunks(after, ours)
			return now, &conflict{reason: "overlap", hunks: hunks}
		}
		store := text.NewStore(now, 0)
		if err := store.Apply(edits, text.Step{}); err != nil {
			return now, err
		}
		now = store.Snapshot()
	}
	if text.Equal(now, ours) {
		return now, errAlready
	}
	return now, nil
}

func (v *reverting) text(of *changes.Version, encoding string) (text.Text, error) {
	content, err := v.t.content(of)
	if err != nil {
		return text.Text{}, &conflict{reason: "unavailable"}
	}
	t, _, err := charset.Load(bytes.NewReader(content), int64(len(content)), charset.Options{Encoding: encoding})
	if err != nil {
		return text.Text{}, &conflict{reason: "changed"}
	}
	return t, nil
}

// throughBuffer takes pairs out of an open buffer as one undo step, which is
// saved unless there was unsaved text.
func (v *reverting) throughBuffer(ctx context.Context, id buffer.ID, pairs []changes.Pair) error {
	if err := v.t.o.Buffers.Look(ctx, id, buffer.Origin{}); err != nil {
		return err
	}
	info, err := v.t.o.Buffers.Get(id)
	if err != nil {
		return err
	}
	ours, _, err := v.t.o.Buffers.Snapshot(id)
	if err != nil {
		return err
	}
	back, err := v.takeBack(ours, info.Encoding, pairs)
	if err != nil {
		return err
	}
	wrote := v.t.Writing(v.owner, id)
	if _, err := v.t.o.Buffers.Write(buffer.WriteParams{Buffer: id, Base: &ours, Text: back, Origin: v.engine()}); err != nil {
		if buffer.CodeOf(err) == buffer.Conflict {
			return &conflict{reason: "overlap"}
		}
		return err
	}
	wrote()
	if info.Modified {
		return nil
	}
	_, err = v.t.o.Buffers.Save(ctx, buffer.SaveParams{Buffer: id, Origin: v.engine()})
	return err
}

// Writing notes what a run is about to do to a buffer, exactly; the function
// that it returns is called when that is done, before the buffer is saved.
func (t *Tracker) Writing(owner attribute.Verdict, id buffer.ID) (done func()) {
	info, err := t.o.Buffers.Get(id)
	if err != nil || info.Path == "" {
		return func() {}
	}
	before := t.bufferVersion(info, owner.Run)
	if info.New {
		before = nil
	}
	return func() {
		defer t.lock(info.Path).Unlock()
		t.add(changes.Step{Path: info.Path, Before: before, After: t.bufferVersion(info, owner.Run), At: time.Now(), Owner: owner})
	}
}

// bufferVersion keeps a buffer's text as the bytes that saving would write.
func (t *Tracker) bufferVersion(info buffer.Info, run string) *changes.Version {
	v := &changes.Version{Mode: 0o644}
	if info.Disk != nil {
		v.Mode = info.Disk.Mode.Perm()
	}
	now, _, err := t.o.Buffers.Snapshot(info.Buffer)
	var out bytes.Buffer
	if err == nil {
		err = charset.Write(&out, now, charset.Format{Encoding: info.Encoding, BOM: info.BOM})
	}
	if err == nil {
		v.Size = int64(out.Len())
		v.Hash, err = t.o.Store.Put(out.Bytes(), t.budget(run))
	}
	if err != nil {
		v.Why = whyRead
	}
	return v
}
