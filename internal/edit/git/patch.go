package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A side is what a hunk goes into or out of the index from.
type side struct {
	staged  bool // the difference is between index and HEAD
	reverse bool
}

// A pick names hunks of one file.
type pick struct {
	path, diffHash string
	hunks          []int
}

// picks gathers hunks by file.
func (s *Space) picks(r *repo, refs []core.GitHunkRef) ([]*pick, error) {
	var all []*pick
	for i, ref := range refs {
		path, err := s.path(r, ref.Raw())
		if err != nil {
			return nil, err
		}
		if ref.Index < 0 {
			return nil, op.BadRequest(fmt.Sprintf("hunks[%d].index", i), op.ReasonOutOfRange)
		}
		at := slices.IndexFunc(all, func(p *pick) bool { return p.path == path })
		if at < 0 {
			all = append(all, &pick{path: path, diffHash: ref.DiffHash})
			at = len(all) - 1
		}
		if all[at].diffHash != ref.DiffHash {
			return nil, stale(path)
		}
		if !slices.Contains(all[at].hunks, ref.Index) {
			all[at].hunks = append(all[at].hunks, ref.Index)
		}
	}
	return all, nil
}

func stale(path string) error {
	return op.Fail(op.CodeStale, "%q has moved since the difference was made", path).With("path", path)
}

// applyHunks puts hunks into the index, or takes them out.
func (s *Space) applyHunks(ctx context.Context, r *repo, picks []*pick, from side) error {
	var patch bytes.Buffer
	zero := false
	for _, p := range picks {
		lines, ok := contextOfHash(p.diffHash)
		if !ok {
			return op.BadRequest("hunks", "diffHash")
		}
		zero = zero || lines == 0
		f, err := s.findDiff(ctx, r, p, from, lines)
		if err != nil {
			return err
		}
		if err := writePatch(&patch, f, p, from.reverse); err != nil {
			return err
		}
	}
	args := []string{"apply", "--cached", "--whitespace=nowarn"}
	if from.reverse {
		args = append(args, "--reverse")
	}
	if zero {
		args = append(args, "--unidiff-zero")
	}
	c := r.git(append(args, "-")...)
	c.stdin = patch.Bytes()
	return s.run(ctx, c)
}

// contextOfHash is how many lines of context the difference had.
func contextOfHash(diffHash string) (int, bool) {
	n, _, ok := strings.Cut(diffHash, "-")
	lines, err := strconv.Atoi(n)
	return lines, ok && err == nil && lines >= 0 && lines <= maxContext
}

// findDiff makes the difference anew and checks that it is the one that was
// told. That of a renamed file shows only among all.
func (s *Space) findDiff(ctx context.Context, r *repo, p *pick, from side, lines int) (*fileDiff, error) {
	c, err := s.diffCall(core.GitDiffParams{Staged: from.staged, Context: &lines})
	if err != nil {
		return nil, err
	}
	c.dir = r.top
	for _, spec := range [][]string{{p.path}, nil} {
		var is *fileDiff
		d := diffReader{context: lines, room: maxDiff, keep: true}
		one := c
		one.args = slices.Clone(c.args)
		one = one.about(spec)
		one.read = func(src io.Reader) error {
			return d.read(src, func(f *fileDiff) error {
				if f.Raw() == p.path && f.DiffHash == p.diffHash {
					is = f
				}
				return nil
			})
		}
		if err := s.run(ctx, one); err != nil {
			return nil, err
		}
		if is != nil {
			return is, nil
		}
	}
	return nil, stale(p.path)
}

// writePatch writes the chosen hunks of a file. The lines of the side that
// the patch makes are numbered as if the others weren't there: git looks for
// the place where the number says.
func writePatch(w *bytes.Buffer, f *fileDiff, p *pick, reverse bool) error {
	if f.over {
		return op.TooLarge(fmt.Sprintf("the difference of %q", p.path), maxPatch, int64(f.kept))
	}
	slices.Sort(p.hunks)
	if len(f.hunks) == 0 || p.hunks[len(p.hunks)-1] >= len(f.hunks) {
		return op.BadRequest("hunks", op.ReasonOutOfRange)
	}
	w.Write(f.head)
	skipped := 0 // lines that the hunks left out would have added
	for i, raw := range f.hunks {
		head, body, _ := bytes.Cut(raw, []byte("\n"))
		h, ok := parseHunk(string(head))
		if !ok {
			return stale(p.path)
		}
		if !slices.Contains(p.hunks, i) {
			skipped += h.NewLines - h.OldLines
			continue
		}
		if reverse {
			h.OldStart += skipped
		} else {
			h.NewStart -= skipped
		}
		fmt.Fprintf(w, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		w.Write(body)
	}
	return nil
}
