package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// maxBlame bounds the lines of a blame's header that are kept.
const maxBlame = 64 << 10

func (s *Space) blame(_ context.Context, _ op.Call, p core.GitBlameParams) (op.Work[core.GitBlameResult], error) {
	if r := p.Range; r != nil && (r.Start.Line < 0 || r.End.Line < r.Start.Line) {
		return op.Work[core.GitBlameResult]{}, op.BadIndex("range", r.End)
	}
	return work(func(ctx context.Context, _ op.Run) (core.GitBlameResult, error) {
		r, err := s.repo(ctx, p.Root)
		if err != nil {
			return core.GitBlameResult{}, err
		}
		path, err := s.path(r, p.Raw())
		if err != nil {
			return core.GitBlameResult{}, err
		}
		return s.blameFile(ctx, r, path, p.Range)
	})
}

func (s *Space) blameFile(ctx context.Context, r *repo, path string, lines *core.Range) (core.GitBlameResult, error) {
	args := []string{"blame", "--porcelain", "--no-textconv", "--no-progress"}
	if lines != nil {
		last := lines.End.Line
		if lines.End.Character > 0 || last == lines.Start.Line {
			last++ // the line that the end is in counts
		}
		args = append(args, fmt.Sprintf("-L%d,%d", lines.Start.Line+1, last))
	}
	result := core.GitBlameResult{Spans: []core.GitBlameSpan{}, Commits: map[string]core.GitCommitInfo{}}
	c := r.git(args...).about([]string{path})
	c.read = func(src io.Reader) error { return parseBlame(src, &result) }
	if err := s.run(ctx, c); err != nil {
		var e *op.Error
		if lines != nil && errors.As(err, &e) && strings.Contains(e.Message, "has only") {
			return result, op.BadIndex("range", lines.End)
		}
		return result, err
	}
	return result, s.blamed(ctx, r, &result)
}

// blamed fills in the commits, whole.
func (s *Space) blamed(ctx context.Context, r *repo, result *core.GitBlameResult) error {
	var oids []byte
	for oid := range result.Commits {
		if !pending(oid) {
			oids = append(append(oids, oid...), '\n')
		}
	}
	if oids == nil {
		return nil
	}
	c := r.git(logArgs("--no-walk=unsorted", "--stdin")...)
	c.stdin = oids
	commits, err := s.commits(ctx, c)
	for _, commit := range commits {
		result.Commits[commit.OID] = commit
	}
	return err
}

// pending reports whether that stands for lines that aren't committed yet.
func pending(oid string) bool { return strings.Trim(oid, "0") == "" }

// parseBlame reads --porcelain: for each line a head with the commit, the
// lines about a commit where it is new, and the line behind a tab.
func parseBlame(src io.Reader, result *core.GitBlameResult) error {
	in := bufio.NewReaderSize(src, maxBlame)
	paths := map[string]string{} // the last one told of each commit
	var oid string
	for {
		line, err := in.ReadSlice('\n')
		start := len(line) == 0 || line[0] != '\t'
		text := strings.TrimSuffix(string(line), "\n")
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n') // the rest of a long line
		}
		if err != nil {
			return err
		}
		if !start {
			continue
		}
		if name, ok := strings.CutPrefix(text, "filename "); ok {
			paths[oid] = unquote(name)
			last := &result.Spans[len(result.Spans)-1]
			last.PathOut = core.NewPath(paths[oid])
			continue
		}
		f := strings.Fields(text)
		if len(f) < 3 || len(f[0]) < 40 {
			continue
		}
		oid = f[0]
		span, ok := spanOf(f)
		if !ok {
			continue
		}
		span.PathOut = core.NewPath(paths[oid])
		result.Spans = append(result.Spans, span)
		if _, known := result.Commits[oid]; !known {
			result.Commits[oid] = uncommitted(oid)
		}
	}
}

// spanOf reads "OID ORIGLINE LINE LINES", which begins each span.
func spanOf(f []string) (core.GitBlameSpan, bool) {
	if len(f) != 4 {
		return core.GitBlameSpan{}, false
	}
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(f[i+1]); err != nil {
			return core.GitBlameSpan{}, false
		}
	}
	return core.GitBlameSpan{OID: f[0], OrigLine: n[0] - 1, Line: n[1] - 1, Lines: n[2]}, true
}

// uncommitted stands for what no commit holds yet.
func uncommitted(oid string) core.GitCommitInfo {
	nobody := core.GitPerson{Name: "Not Committed Yet", At: time.Unix(0, 0).UTC()}
	return core.GitCommitInfo{
		OID: oid, Short: oid[:8], Parents: []string{}, Refs: []string{}, Author: nobody, Committer: nobody,
	}
}

// unquote reads a path as git quotes it in the manner of C.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		if at := slices.Index([]byte("abtnvfr"), s[i]); at >= 0 {
			b = append(b, "\a\b\t\n\v\f\r"[at])
			continue
		}
		if i+3 <= len(s) {
			if n, err := strconv.ParseUint(s[i:i+3], 8, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
