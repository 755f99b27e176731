package git

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// defaultLog is how many commits git.log gives by default.
const defaultLog = 100

// maxLog is how many it gives at most.
const maxLog = 10_000

// maxShown is the largest file that git.show gives, in bytes.
const maxShown = 24 << 20

// commitFormat gives the fields of a commit, NUL between them; -z ends it.
const commitFormat = "--format=tformat:%H%x00%h%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%D%x00%s%x00%b"

// commitFields is how many there are.
const commitFields = 12

func logArgs(more ...string) []string {
	return append([]string{"log", "-z", commitFormat, "--encoding=UTF-8", "--decorate=short", "--no-color", "--no-ext-diff", "--no-textconv"}, more...)
}

func (s *Space) log(ctx context.Context, _ op.Call, p core.GitLogParams) (core.GitLogResult, error) {
	most := defaultLog
	if p.Max != nil {
		most = min(*p.Max, maxLog)
	}
	if most < 1 {
		return core.GitLogResult{}, op.BadRequest("max", op.ReasonOutOfRange)
	}
	if p.Skip < 0 {
		return core.GitLogResult{}, op.BadRequest("skip", op.ReasonOutOfRange)
	}
	r, err := s.repo(ctx, p.Root)
	if err != nil {
		return core.GitLogResult{}, err
	}
	args := logArgs("--max-count="+strconv.Itoa(most+1), "--skip="+strconv.Itoa(p.Skip), "--end-of-options")
	rev := p.From
	if rev == "" {
		rev = "HEAD"
	}
	var spec []string
	if p.Raw() != "" {
		if spec, err = s.pathspec(r, p.Raw()); err != nil {
			return core.GitLogResult{}, err
		}
	}
	commits, err := s.commits(ctx, r.git(append(args, rev)...).about(spec))
	if err != nil && p.From == "" && s.unborn(ctx, r, err) {
		return core.GitLogResult{Commits: []core.GitCommitInfo{}}, nil
	}
	if err != nil {
		return core.GitLogResult{}, err
	}
	more := len(commits) > most
	return core.GitLogResult{Commits: commits[:min(most, len(commits))], More: more}, nil
}

// unborn reports whether the error of a call is that there is no commit yet.
func (s *Space) unborn(ctx context.Context, r *repo, err error) bool {
	var e *op.Error
	if !errors.As(err, &e) || e.Reason() != op.ConflictGitRefused {
		return false
	}
	_, err = s.line(ctx, r.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
	return err != nil
}

// commits runs a log and reads what it gives.
func (s *Space) commits(ctx context.Context, c call) ([]core.GitCommitInfo, error) {
	raw, err := s.output(ctx, c)
	if err != nil {
		return nil, err
	}
	commits := []core.GitCommitInfo{}
	fields := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	for ; len(fields) >= commitFields; fields = fields[commitFields:] {
		commits = append(commits, commitOf(fields))
	}
	return commits, nil
}

func commitOf(f []string) core.GitCommitInfo {
	for i := range commitFields {
		f[i] = strings.ToValidUTF8(f[i], "\uFFFD")
	}
	return core.GitCommitInfo{
		OID: f[0], Short: f[1], Parents: strings.Fields(f[2]),
		Author:    core.GitPerson{Name: f[3], Email: f[4], At: unixTime(f[5])},
		Committer: core.GitPerson{Name: f[6], Email: f[7], At: unixTime(f[8])},
		Refs:      refNames(f[9]), Subject: f[10], Body: strings.TrimRight(f[11], "\n"),
	}
}

func unixTime(s string) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64) // git wrote it
	return time.Unix(n, 0).UTC()
}

// refNames reads git's decoration: "HEAD -> main, tag: v1, origin/main".
func refNames(decoration string) []string {
	names := []string{}
	if decoration == "" {
		return names
	}
	for name := range strings.SplitSeq(decoration, ", ") {
		if branch, ok := strings.CutPrefix(name, "HEAD -> "); ok {
			names = append(names, "HEAD")
			name = branch
		}
		names = append(names, strings.TrimPrefix(name, "tag: "))
	}
	return names
}

func (s *Space) show(ctx context.Context, _ op.Call, p core.GitShowParams) (core.GitShowResult, error) {
	if p.Rev == "" || strings.ContainsRune(p.Rev, 0) {
		return core.GitShowResult{}, op.BadRequest("rev", "invalid")
	}
	r, err := s.repo(ctx, p.Root)
	if err != nil {
		return core.GitShowResult{}, err
	}
	if p.Raw() != "" {
		path, err := s.path(r, p.Raw())
		if err != nil {
			return core.GitShowResult{}, err
		}
		return s.showFile(ctx, r, p.Rev, path)
	}
	oid, err := s.line(ctx, r.git("rev-parse", "--verify", "--end-of-options", p.Rev+"^{commit}"))
	if err != nil {
		return core.GitShowResult{}, err
	}
	commits, err := s.commits(ctx, r.git(logArgs("--max-count=1", "--end-of-options", oid, "--")...))
	if err != nil {
		return core.GitShowResult{}, err
	}
	if len(commits) != 1 {
		return core.GitShowResult{}, gitRefused("git gave no commit " + oid)
	}
	args := append([]string{"diff-tree", "--no-commit-id", "--root", "-r", "--diff-merges=first-parent"}, diffArgs(defaultContext)...)
	files, err := s.diffFiles(ctx, r.git(append(args, "--end-of-options", oid, "--")...), defaultContext)
	return core.GitShowResult{GitCommitInfo: &commits[0], Files: files}, err
}

// showFile gives a file as it was.
func (s *Space) showFile(ctx context.Context, r *repo, rev, path string) (core.GitShowResult, error) {
	b, err := s.blob(ctx, r, rev, path)
	if err != nil {
		return core.GitShowResult{}, err
	}
	if !utf8.Valid(b) {
		return core.GitShowResult{Base64: b}, nil
	}
	text := string(b)
	return core.GitShowResult{Text: &text}, nil
}

func (s *Space) blob(ctx context.Context, r *repo, rev, path string) ([]byte, error) {
	tree, err := s.line(ctx, r.git("rev-parse", "--verify", "--end-of-options", rev+"^{tree}"))
	if err != nil {
		return nil, err
	}
	name := tree + ":" + path
	kind, err := s.line(ctx, r.git("cat-file", "-t", name))
	if err != nil || kind != "blob" {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, op.NotFound("path", path)
	}
	raw, err := s.line(ctx, r.git("cat-file", "-s", name))
	if err != nil {
		return nil, err
	}
	if size, _ := strconv.ParseInt(raw, 10, 64); size > maxShown {
		return nil, op.TooLarge(strconv.Quote(path), maxShown, size)
	}
	return s.output(ctx, r.git("cat-file", "blob", name))
}

// Head is the content of a file in HEAD, for buffer.diff. path is absolute
// and inside the roots.
func (s *Space) Head(ctx context.Context, path string) ([]byte, error) {
	dir := path
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		dir = path[:i]
	}
	r, err := s.repo(ctx, dir)
	if err != nil {
		return nil, err
	}
	rel, err := s.path(r, path)
	if err != nil {
		return nil, err
	}
	b, err := s.blob(ctx, r, "HEAD", rel)
	return bytes.Clone(b), err
}

// Commit is the commit that HEAD of a folder's repository is at; "" for none.
func (s *Space) Commit(ctx context.Context, folder string) string {
	r, err := s.repo(ctx, folder)
	if err != nil {
		return ""
	}
	oid, err := s.line(ctx, r.git("rev-parse", "--verify", "--quiet", "HEAD"))
	if err != nil {
		return ""
	}
	return oid
}
