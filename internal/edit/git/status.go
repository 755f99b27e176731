package git

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// maxStatus is how much the paths of a status may take, in bytes, so that its
// line stays within what a line may hold.
const maxStatus = 24 << 20

// entryCost is what an entry takes beside its paths, in bytes of its line.
const entryCost = 96

func (s *Space) status(ctx context.Context, _ op.Call, p core.GitStatusParams) (core.GitStatusResult, error) {
	r, err := s.repo(ctx, p.Root)
	if err != nil {
		return core.GitStatusResult{}, err
	}
	spec, err := s.pathspec(r, p.Raw())
	if err != nil {
		return core.GitStatusResult{}, err
	}
	if p.Ignored { // what is ignored isn't watched
		return s.askStatus(ctx, r, spec, p.Ignored)
	}
	return s.cachedStatus(ctx, r, spec)
}

// askStatus asks git.
func (s *Space) askStatus(ctx context.Context, r *repo, spec []string, ignored bool) (core.GitStatusResult, error) {
	args := []string{"status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--find-renames", "--ahead-behind"}
	if ignored {
		args = append(args, "--ignored=matching")
	}
	c := r.git(args...).about(spec)
	var st core.GitStatusResult
	c.read = func(src io.Reader) (err error) {
		st, err = parseStatus(src)
		return err
	}
	if err := s.run(ctx, c); err != nil {
		return core.GitStatusResult{}, err
	}
	st.State = stateOf(r)
	return st, nil
}

// stateOf says what is under way, by the files that git keeps of it.
func stateOf(r *repo) string {
	for _, f := range stateFiles {
		if identity(filepath.Join(r.dir, f.name)).there {
			return f.state
		}
	}
	return ""
}

var stateFiles = []struct{ name, state string }{
	{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"}, {"BISECT_LOG", "bisect"},
}

// parseStatus reads porcelain v2 with -z.
func parseStatus(src io.Reader) (core.GitStatusResult, error) {
	st := core.GitStatusResult{Entries: []core.GitEntry{}}
	in := bufio.NewReaderSize(src, 64<<10)
	room := maxStatus
	for {
		record, err := in.ReadString(0)
		if err == io.EOF {
			return st, nil
		}
		if err != nil {
			return st, err
		}
		record = record[:len(record)-1]
		if head, ok := strings.CutPrefix(record, "# branch."); ok {
			branchLine(&st.Branch, head)
			continue
		}
		orig := ""
		if strings.HasPrefix(record, "2 ") {
			if orig, err = in.ReadString(0); err != nil {
				return st, err
			}
			orig = orig[:len(orig)-1]
		}
		e, ok := entryOf(record, orig)
		if !ok {
			continue
		}
		if room -= len(record) + len(orig) + entryCost; room < 0 {
			st.Truncated = true // the rest is dropped by the caller
			return st, nil
		}
		st.Entries = append(st.Entries, e)
	}
}

func branchLine(b *core.GitBranchState, head string) {
	key, value, _ := strings.Cut(head, " ")
	switch key {
	case "oid":
		if value != "(initial)" {
			b.OID = value
		}
	case "head":
		if value == "(detached)" {
			b.Detached = true
		} else {
			b.Name = value
		}
	case "upstream":
		b.Upstream = value
	case "ab":
		ahead, behind, _ := strings.Cut(value, " ")
		b.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		b.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// entryOf reads one record; orig is the second path of a renamed one.
func entryOf(record, orig string) (e core.GitEntry, ok bool) {
	kind, rest, _ := strings.Cut(record, " ")
	fields := 0 // before the path
	switch kind {
	case "1":
		fields, e.Kind = 7, "ordinary"
	case "2":
		fields, e.Kind = 8, "renamed"
	case "u":
		fields, e.Kind = 9, "unmerged"
	case "?", "!":
		e.Kind = map[string]string{"?": "untracked", "!": "ignored"}[kind]
		e.PathOut = core.NewPath(rest)
		e.Index, e.Worktree = kind, kind
		return e, true
	default:
		return e, false
	}
	parts := strings.SplitN(rest, " ", fields+1)
	if len(parts) != fields+1 || len(parts[0]) != 2 {
		return e, false
	}
	e.PathOut = core.NewPath(parts[fields])
	e.Index, e.Worktree = parts[0][:1], parts[0][1:]
	if kind == "2" {
		o := core.NewPath(orig)
		e.Orig, e.OrigBytes = o.Path, o.PathBytes
		if strings.HasPrefix(parts[7], "C") {
			e.Kind = "copied"
		}
	}
	if kind != "u" && parts[1] != "N..." {
		e.Kind = "submodule"
	}
	return e, true
}

// A statusCache keeps the last answers.
type statusCache struct {
	mu    sync.Mutex
	known map[string]cached // by repository and pathspec
}

// maxCached bounds how many answers are kept.
const maxCached = 16

// cached is an answer and what it depends on.
type cached struct {
	mark       string
	generation uint64
	result     core.GitStatusResult
}

// cachedStatus answers from the last result while the watcher has seen no
// change, and nothing moved of what it doesn't watch (core.md §6).
func (s *Space) cachedStatus(ctx context.Context, r *repo, spec []string) (core.GitStatusResult, error) {
	generation, watched := s.generation(ctx, r)
	if !watched {
		return s.askStatus(ctx, r, spec, false)
	}
	key := r.top + "\x00" + strings.Join(spec, "\x00")
	s.cache.mu.Lock()
	c, ok := s.cache.known[key]
	s.cache.mu.Unlock()
	if ok && c.generation == generation {
		if mark, err := s.statusMark(ctx, r, c.result.Branch); err == nil && mark == c.mark {
			return c.result, nil
		}
	}
	// The marks before and after: what moved while git looked isn't kept.
	before, err := s.statusMark(ctx, r, core.GitBranchState{})
	if err != nil {
		return core.GitStatusResult{}, err
	}
	result, err := s.askStatus(ctx, r, spec, false)
	if err != nil {
		return result, err
	}
	after, err := s.statusMark(ctx, r, core.GitBranchState{})
	if err != nil || after != before {
		return result, err
	}
	mark, err := s.statusMark(ctx, r, result.Branch)
	if err != nil {
		return result, err
	}
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if s.cache.known == nil || len(s.cache.known) >= maxCached {
		s.cache.known = map[string]cached{}
	}
	s.cache.known[key] = cached{mark: mark, generation: generation, result: result}
	return result, nil
}

// generation is the watcher's, for worktrees whose state the watcher and the
// marks tell whole. Submodules have HEADs that neither of them knows.
func (s *Space) generation(ctx context.Context, r *repo) (uint64, bool) {
	if s.opts.Watcher == nil || identity(filepath.Join(r.top, ".gitmodules")).there {
		return 0, false
	}
	return s.opts.Watcher.Generation(ctx, r.top)
}

// statusMark is the state of everything outside the worktree that a status
// depends on; b tells which refs.
func (s *Space) statusMark(ctx context.Context, r *repo, b core.GitBranchState) (string, error) {
	c, err := s.settings(ctx, r)
	if err != nil {
		return "", err
	}
	ignores, attributes := c.ignores, c.attributes
	if ignores == "" {
		ignores = filepath.Join(s.userDir(), "ignore")
	}
	if attributes == "" {
		attributes = filepath.Join(s.userDir(), "attributes")
	}
	files := []string{
		filepath.Join(r.dir, "HEAD"), filepath.Join(r.dir, "index"),
		filepath.Join(r.dir, "info", "sparse-checkout"),
		filepath.Join(r.common, "packed-refs"), filepath.Join(r.common, "reftable", "tables.list"),
		filepath.Join(r.common, "info", "exclude"), filepath.Join(r.common, "info", "attributes"),
		ignores, attributes, "/etc/gitattributes",
	}
	for _, f := range stateFiles {
		files = append(files, filepath.Join(r.dir, f.name))
	}
	if b.Name != "" {
		files = append(files, filepath.Join(r.common, "refs", "heads", b.Name))
	}
	if b.Upstream != "" { // a branch of a remote, or of ours
		files = append(files, filepath.Join(r.common, "refs", "remotes", b.Upstream), filepath.Join(r.common, "refs", "heads", b.Upstream))
	}
	return c.mark + identities(files...), nil
}
