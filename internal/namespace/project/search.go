package project

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/ignore"
	"dragoman/internal/edit/match"
	"dragoman/internal/edit/tree"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Limits of a search (core.md §6).
const (
	batchMatches   = 200
	batchBytes     = 256 << 10
	defaultMatches = 10000
	maxMatches     = 1000000
	maxContext     = 100
	maxSkipped     = 1000
	// partFiles is how many files of a folder one goroutine takes at a time.
	partFiles = 64
	// waitingParts is how many of them wait for a goroutine.
	waitingParts = 32
)

// A query is what to look for and where.
type query struct {
	text     string
	options  match.Options
	pattern  *match.Pattern
	globs    ignore.Globs
	exclude  ignore.Globs
	overlay  core.Overlay
	roots    []string
	most     int
	context  int
	anything bool
}

func (s *Space) query(text string, o core.FindOptions, globs, exclude []string, overlay core.Overlay, root string) (*query, error) {
	q := &query{
		text: text, options: match.Options{Regex: o.Regex, IgnoreCase: o.IgnoreCase, WholeWord: o.WholeWord},
		globs: ignore.ParseGlobs(globs), exclude: ignore.ParseGlobs(exclude), overlay: overlay, most: defaultMatches,
	}
	if overlay == "" {
		q.overlay = core.OverlayOn
	}
	q.anything = len(q.globs) == 0
	var err error
	if q.pattern, err = match.Compile(text, q.options); err != nil {
		return nil, wireError(err, "query")
	}
	q.roots, err = s.rootsOf(root)
	return q, err
}

// takes reports whether the globs let a path of a root through.
func (q *query) takes(path string) bool {
	return (q.anything || q.globs.Has(path)) && !q.exclude.Has(path)
}

func (s *Space) search(_ context.Context, _ op.Call, p core.ProjectSearchParams) (op.Work[core.ProjectSearchResult], error) {
	none := op.Work[core.ProjectSearchResult]{}
	q, err := s.query(p.Query, p.Options, p.Globs, p.Exclude, p.Buffers, p.Root)
	if err != nil {
		return none, err
	}
	if p.Max != nil {
		if *p.Max < 1 {
			return none, op.BadRequest("max", op.ReasonOutOfRange)
		}
		q.most = min(*p.Max, maxMatches)
	}
	if q.context = p.ContextLines; q.context < 0 || q.context > maxContext {
		return none, op.BadRequest("contextLines", op.ReasonOutOfRange)
	}
	return op.Work[core.ProjectSearchResult]{Do: func(ctx context.Context, r op.Run) (core.ProjectSearchResult, error) {
		x := newSearching(s, q, r)
		return x.run(ctx)
	}}, nil
}

// errEnough ends a search that has found its most.
var errEnough = errors.New("enough matches")

// A searching is one search on its way.
type searching struct {
	s *Space
	q *query
	r op.Run
	// stop ends the search early.
	stop context.CancelCauseFunc
	// overlaid are the buffers' paths, which aren't read from the disk.
	overlaid map[string]bool
	// each is called with each text that has matches, at once by several
	// goroutines.
	each func(f core.SearchedFile, path string, text []byte, matches []match.Range)

	matches, files atomic.Int64
	mu             sync.Mutex
	sent           int64
	skipped        []core.SkippedFile
	searched       int
}

func newSearching(s *Space, q *query, r op.Run) *searching {
	x := &searching{s: s, q: q, r: r, overlaid: map[string]bool{}}
	x.each = x.tell
	return x
}

func (x *searching) run(ctx context.Context) (core.ProjectSearchResult, error) {
	err := x.everywhere(ctx)
	r := core.ProjectSearchResult{
		Matches: int(min(x.matches.Load(), int64(x.q.most))), Files: int(x.files.Load()),
		SearchedFiles: x.searched, Skipped: x.skipped, Truncated: errors.Is(err, errEnough),
	}
	if r.Skipped == nil {
		r.Skipped = []core.SkippedFile{}
	}
	if r.Truncated {
		err = nil
	}
	return r, err
}

// everywhere searches buffers and roots. The error is errEnough, ctx's, or
// that of a root.
func (x *searching) everywhere(ctx context.Context) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x.stop = stop
	if x.q.overlay != core.OverlayOff {
		x.inBuffers(inner)
	}
	for _, root := range x.q.roots {
		if x.q.overlay == core.OverlayOnly || inner.Err() != nil {
			break
		}
		if err := x.inRoot(inner, root); err != nil && inner.Err() == nil {
			return wireError(err, root)
		}
	}
	if context.Cause(inner) == errEnough {
		return errEnough
	}
	return ctx.Err()
}

// inBuffers searches the open buffers: those with unsaved text, with overlay
// "only" all.
func (x *searching) inBuffers(ctx context.Context) {
	for _, info := range x.s.Buffers.List() {
		if ctx.Err() != nil {
			return
		}
		unsaved := info.Modified || info.New || info.Path == ""
		if !unsaved && x.q.overlay != core.OverlayOnly {
			continue
		}
		x.inBuffer(ctx, info)
	}
}

func (x *searching) inBuffer(ctx context.Context, info buffer.Info) {
	f := core.SearchedFile{Buffer: string(info.Buffer)}
	if info.Path != "" {
		root, ok := x.s.Roots.RootOf(info.Path)
		if !ok || !slices.Contains(x.q.roots, root) {
			return
		}
		x.overlaid[info.Path] = true
		rel := relative(root, info.Path)
		if !x.q.takes(rel) {
			return
		}
		f.Root, f.Path = root, &rel
	}
	t, revision, err := x.s.Buffers.Snapshot(info.Buffer)
	if err != nil {
		return
	}
	x.searched++
	f.Revision = &revision
	var ranges []match.Range
	err = buffer.Scan(ctx, t, x.q.pattern, 0, func(start, end int) bool {
		ranges = append(ranges, match.Range{Start: start, End: end})
		return len(ranges) <= x.q.most
	})
	if err == nil && len(ranges) > 0 {
		x.each(f, info.Path, t.AppendWire(nil, 0, t.Len()), ranges)
	}
}

func relative(root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// inRoot searches the files of a root.
func (x *searching) inRoot(ctx context.Context, root string) error {
	dir, _, err := x.s.Roots.Open(root)
	if err != nil {
		return err
	}
	folders := make(chan match.Folder, waitingParts)
	scan := &match.Scan{
		Pattern: x.q.pattern, Decode: decode, MaxPerFile: x.q.most + 1,
		Report: func(f match.Found) { x.report(root, f) },
	}
	var wg sync.WaitGroup
	var searched int
	wg.Go(func() { searched, _ = scan.Run(ctx, folders) })
	err = tree.Walk(ctx, dir, tree.Filter{Rules: ignore.Load(root, x.s.GlobalIgnore)}, func(f *tree.Folder, entries []tree.Entry) error {
		return x.send(ctx, root, f, entries, folders)
	})
	close(folders)
	wg.Wait()
	for left := range folders {
		left.Close()
	}
	x.searched += searched
	return err
}

// send hands the files of a folder to the scan in parts.
func (x *searching) send(ctx context.Context, root string, f *tree.Folder, entries []tree.Entry, to chan<- match.Folder) error {
	var names []string
	for _, e := range entries {
		if e.Type.IsRegular() && x.q.takes(e.Path) && !(len(x.overlaid) > 0 && x.overlaid[filepath.Join(root, filepath.FromSlash(e.Path))]) {
			names = append(names, e.Name)
		}
	}
	for part := range slices.Chunk(names, partFiles) {
		f.Retain()
		select {
		case to <- match.Folder{Path: f.Path, Names: part, Open: f.Open, Close: f.Release}:
		case <-ctx.Done():
			f.Release()
			return ctx.Err()
		}
	}
	return nil
}

func (x *searching) report(root string, f match.Found) {
	rel := f.Name
	if f.Path != "" {
		rel = f.Path + "/" + f.Name
	}
	path := filepath.Join(root, filepath.FromSlash(rel))
	if f.Err != nil {
		x.skip(path, codeOf(f.Err, path))
		return
	}
	wire := core.NewPath(rel).Path
	x.each(core.SearchedFile{Root: root, Path: &wire}, path, f.Text, f.Matches)
}

func (x *searching) skip(path string, e *op.Error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.skipped) < maxSkipped {
		x.skipped = append(x.skipped, core.SkippedFile{Path: core.NewPath(path).Path, Code: e.Code})
	}
}

// take counts matches and gives how many of them there is still room for.
func (x *searching) take(n int) int {
	before := x.matches.Add(int64(n)) - int64(n)
	room := int(max(int64(x.q.most)-before, 0))
	if n > room {
		x.stop(errEnough)
	}
	if room > 0 {
		x.files.Add(1)
	}
	return min(n, room)
}

// tell sends the matches of a file in batches.
func (x *searching) tell(f core.SearchedFile, _ string, text []byte, ranges []match.Range) {
	ranges = ranges[:x.take(len(ranges))]
	l := &locator{text: text}
	var batch []found
	size := 0
	for _, m := range ranges {
		one := l.match(m.Start, m.End, x.q.context)
		batch = append(batch, one)
		size += one.size()
		if len(batch) == batchMatches || size >= batchBytes {
			x.emit(f, batch)
			batch, size = nil, 0
		}
	}
	if len(batch) > 0 {
		x.emit(f, batch)
	}
}

func (f *found) size() int {
	n := len(f.text)
	for _, lines := range [][]string{f.before, f.after} {
		for _, line := range lines {
			n += len(line)
		}
	}
	return n
}

func (x *searching) emit(f core.SearchedFile, batch []found) {
	run := x.r.ID()
	m := core.ProjectMatches.ByUnit(func(u op.Unit) core.ProjectMatchesParams {
		p := core.ProjectMatchesParams{Run: run, File: &f, Matches: make([]core.SearchMatch, len(batch))}
		for i := range batch {
			p.Matches[i] = batch[i].in(u)
		}
		return p
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent += int64(len(batch))
	x.r.Bulk(m, op.Mark{Next: x.sent})
}
