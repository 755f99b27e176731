package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/internal/namespace/spacetest"
	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A place is a core with this namespace over one root.
type place struct {
	*spacetest.World
	*spacetest.Client
	t       *testing.T
	root    string
	space   *Space
	environ []string
	trash   *trash
	watcher *watcher
	starts  atomic.Int64
	sup     *proc.Supervisor
}

// trash moves things into a folder.
type trash struct{ dir string }

// Put moves a thing into the folder.
func (tr *trash) Put(_ context.Context, path string, _ core.Origin) error {
	return os.Rename(path, filepath.Join(tr.dir, filepath.Base(path)))
}

// watcher tells what the test says.
type watcher struct {
	generation atomic.Uint64
	blind      atomic.Bool
}

// Generation returns the test's number.
func (w *watcher) Generation(context.Context, string) (uint64, bool) {
	return w.generation.Load(), !w.blind.Load()
}

// paths confines to one folder.
type paths struct{ root string }

func (p paths) inside(path, raw string) (string, error) {
	if path != p.root && !strings.HasPrefix(path, p.root+"/") {
		return "", op.OutsideRoot(raw)
	}
	return path, nil
}

// Resolve follows links.
func (p paths) Resolve(raw string) (string, error) {
	path := raw
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.root, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return p.inside(path, raw)
}

// ResolveName follows links but the last.
func (p paths) ResolveName(raw string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(raw))
	if err != nil {
		dir = filepath.Dir(raw)
	}
	return p.inside(filepath.Join(dir, filepath.Base(raw)), raw)
}

// StartRaw counts the calls of git.
func (p *place) StartRaw(ctx context.Context, c proc.Command) (*proc.Process, error) {
	p.starts.Add(1)
	return p.sup.StartRaw(ctx, c)
}

// testEnviron has an empty home, and nobody's configuration.
func testEnviron(home string) []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"),
		"GIT_CONFIG_NOSYSTEM=1", "LANG=C.UTF-8",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_AUTHOR_DATE=2024-01-02T03:04:05+01:00",
		"GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=committer@example.com", "GIT_COMMITTER_DATE=2024-01-02T03:04:06+01:00",
	}
}

// newPlace makes a core whose root is an empty repository on the branch main.
func newPlace(t *testing.T) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{
		t: t, root: filepath.Join(base, "repo"), environ: testEnviron(base),
		trash: &trash{filepath.Join(base, "trash")}, watcher: &watcher{},
	}
	for _, dir := range []string{p.root, p.trash.dir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.git("init", "-q", "-b", "main")
	p.open()
	return p
}

// open starts the core on the root.
func (p *place) open() {
	p.t.Helper()
	var err error
	if p.sup, err = proc.New(proc.Options{Grace: 200 * time.Millisecond}); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), spacetest.Patience)
		defer cancel()
		if err := p.sup.Close(ctx); err != nil {
			p.t.Error(err)
		}
	})
	p.World = spacetest.New(p.t, p.root, func(w *spacetest.World) {
		p.space = New(Options{
			Starter: p, Paths: paths{p.root}, Roots: func() []string { return []string{p.root} },
			Events: w.Hub, Environ: p.environ, Watcher: p.watcher, Trash: p.trash,
		})
		p.t.Cleanup(func() { p.space.Close() })
		p.space.Bind(w.Mux)
	})
	p.Client = p.Attach()
}

// git runs git as the test's own hand.
func (p *place) git(args ...string) string {
	p.t.Helper()
	out, err := p.tryGit(args...)
	if err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

func (p *place) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Env = p.root, p.environ
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (p *place) write(path, text string) {
	p.t.Helper()
	path = filepath.Join(p.root, path)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(path string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.root, path))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// commit commits files with their texts.
func (p *place) commit(message string, files ...string) {
	p.t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		p.write(files[i], files[i+1])
	}
	p.git("add", "-A")
	p.git("commit", "-q", "-m", message)
}

// summary is a status in short.
func (p *place) summary() string {
	p.t.Helper()
	return summaryOf(spacetest.MustCall(p.Client, core.GitStatus, core.GitStatusParams{}))
}

func summaryOf(st core.GitStatusResult) string {
	var out []string
	for _, e := range st.Entries {
		line := e.Kind + " " + e.Index + e.Worktree + " " + e.Raw()
		if e.Orig != "" {
			line += " < " + e.Orig
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (p *place) wantSummary(lines ...string) {
	p.t.Helper()
	if got, want := p.summary(), strings.Join(lines, "\n"); got != want {
		p.t.Errorf("status\n%s\nwant\n%s", got, want)
	}
}

func second[R any](_ R, e *op.Error) *op.Error { return e }
