package buffer

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/client"
	engine "dragoman/internal/edit/buffer"
	face "dragoman/internal/face/core"
	"dragoman/internal/hub"
	"dragoman/internal/run"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// A world is a core with the buffer namespace over a temporary root.
type world struct {
	t    *testing.T
	root string
	srv  *face.Server
	wg   sync.WaitGroup
	log  strings.Builder
	mu   sync.Mutex
}

// inRoot resolves below one folder.
type inRoot string

func (r inRoot) Resolve(raw string) (string, error) {
	if !filepath.IsAbs(raw) {
		raw = filepath.Join(string(r), raw)
	}
	if !strings.HasPrefix(filepath.Clean(raw), string(r)) {
		return "", op.OutsideRoot(raw)
	}
	return filepath.Clean(raw), nil
}

func (r inRoot) Exists(path string) bool { _, err := os.Stat(path); return err == nil }

func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root}
	log := slog.New(slog.NewTextHandler(w, nil))
	h := hub.New(hub.Options{Log: log})
	runs, err := run.Open(run.Options{Events: h, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	mux := op.NewMux()
	set := engine.New(engine.Options{Observer: Observe(h)})
	s := New(Options{Set: set, Paths: inRoot(root)})
	s.Bind(mux)
	w.srv = face.New(face.Options{
		Mux: mux, Hub: h, Runs: runs, Core: "k1", Version: "test", Log: log,
		Roots: func() []string { return []string{root} }, Unsaved: s.Unsaved,
		DetachHooks: []func(string){s.Detached},
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := w.srv.Close(ctx); err != nil {
			t.Error(err)
		}
		w.wg.Wait()
		if w.log.Len() > 0 {
			t.Errorf("logged %s", w.log.String())
		}
	})
	return w
}

// attach connects a client through a socket.
func (w *world) attach(o client.Options, role op.Role) *client.Client {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		w.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	o.Once = true
	c, err := client.New(context.Background(), func(context.Context) (io.ReadWriteCloser, error) {
		ours, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			return nil, err
		}
		theirs, err := l.Accept()
		if err != nil {
			return nil, err
		}
		w.wg.Go(func() {
			_ = w.srv.ServeConn(context.Background(), theirs, face.NetConn(theirs), face.Peer{
				Transport: core.TransportUnix, Access: op.Access{Role: role},
			})
		})
		return ours, nil
	}, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

func (w *world) file(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}
