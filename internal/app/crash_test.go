package app_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/client"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// patience bounds every wait on a loaded machine.
const patience = 30 * time.Second

// A realCore is a core in a process of its own, which a test may kill.
type realCore struct {
	t         *testing.T
	dir, root string
	socket    string
	cmd       *exec.Cmd
	mu        sync.Mutex
	ends      []core.RunEndedParams
	ended     chan struct{}
}

func newRealCore(t *testing.T) *realCore {
	dir := t.TempDir()
	c := &realCore{t: t, dir: dir, root: filepath.Join(dir, "root"), ended: make(chan struct{}, 100)}
	if err := os.Mkdir(c.root, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

// start starts the core, again after kill.
func (c *realCore) start() {
	c.t.Helper()
	c.cmd = exec.Command("dragoman", "core", "--root", c.root, "--state", filepath.Join(c.dir, "state"))
	c.cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+c.dir, "HOME="+c.dir, "XDG_CONFIG_HOME=")
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	var report struct {
		Socket string `json:"socket"`
	}
	if err := json.Unmarshal(line, &report); err != nil {
		c.t.Fatal(err)
	}
	c.socket = report.Socket
}

// kill ends the core as kill -9 does. It may be called twice.
func (c *realCore) kill() {
	if c.cmd != nil && c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

func (c *realCore) event(e client.Event) {
	var p core.RunEndedParams
	if e.Name != core.RunEnded.Name || json.Unmarshal(e.Params, &p) != nil {
		return
	}
	c.mu.Lock()
	c.ends = append(c.ends, p)
	c.mu.Unlock()
	c.ended <- struct{}{}
}

// attach attaches a client that finds the core again after a restart.
func (c *realCore) attach(ctx context.Context) *client.Client {
	c.t.Helper()
	cl, err := client.New(ctx, client.Unix(c.socket), client.Options{Name: "test", OnEvent: c.event})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { cl.Close() })
	return cl
}

// open opens a file that may be missing.
func (c *realCore) open(ctx context.Context, cl *client.Client, name string) core.BufferOpenResult {
	c.t.Helper()
	info, err := core.BufferOpen.Call(ctx, cl, core.BufferOpenParams{PathIn: core.PathIn{Path: name}})
	if err != nil {
		c.t.Fatal(err)
	}
	return info
}

// insert puts text at the start of a buffer.
func (c *realCore) insert(ctx context.Context, cl *client.Client, buffer, text string) {
	c.t.Helper()
	if _, err := core.BufferEdit.Call(ctx, cl, core.BufferEditParams{Buffer: buffer, Edits: []core.Edit{{Text: text}}}); err != nil {
		c.t.Fatal(err)
	}
}

// lossLimit is what kill -9 may cost of unsaved edits: the second of the
// recovery log (core.md §6 "buffer"), and what a busy machine adds to it.
const lossLimit = time.Second + 2*time.Second

// TestKillNine kills a core: what was saved is there, unsaved edits but the
// last come back, and the run that was open ends (core.md §2, §6).
func TestKillNine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	c := newRealCore(t)
	c.start()
	cl := c.attach(ctx)

	saved := c.open(ctx, cl, "saved.txt")
	c.insert(ctx, cl, saved.Buffer, "saved\n")
	if _, err := core.BufferSave.Call(ctx, cl, core.BufferSaveParams{Buffer: saved.Buffer}); err != nil {
		t.Fatal(err)
	}
	run, err := core.ExecRun.Start(ctx, cl, core.ExecRunParams{Argv: []string{"sleep", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	unsaved := c.open(ctx, cl, "unsaved.txt")
	answered := c.editFor(ctx, cl, unsaved.Buffer, lossLimit+time.Second)
	killed := time.Now()
	before := cl.Hello().Core
	c.kill()
	c.start()
	for cl.Hello().Core == before {
		if ctx.Err() != nil {
			t.Fatal("the client didn't find the new core")
		}
		time.Sleep(10 * time.Millisecond)
	}

	if got, err := os.ReadFile(filepath.Join(c.root, "saved.txt")); err != nil || string(got) != "saved\n" {
		t.Errorf("the saved file is %q, %v", got, err)
	}
	c.checkRecovered(ctx, cl, answered, killed)
	c.checkEnded(run)
}

// editFor inserts the lines "0", "1", … for a while, each before the others,
// and returns when each was answered.
func (c *realCore) editFor(ctx context.Context, cl *client.Client, buffer string, d time.Duration) []time.Time {
	c.t.Helper()
	var answered []time.Time
	for begin := time.Now(); time.Since(begin) < d; {
		c.insert(ctx, cl, buffer, fmt.Sprintln(len(answered)))
		answered = append(answered, time.Now())
		time.Sleep(2 * time.Millisecond)
	}
	return answered
}

func (c *realCore) checkRecovered(ctx context.Context, cl *client.Client, answered []time.Time, killed time.Time) {
	c.t.Helper()
	info := c.open(ctx, cl, "unsaved.txt")
	if info.Recovery == nil || info.Recovery.BaseChanged {
		c.t.Fatalf("no recovery is offered: %+v", info)
	}
	if _, err := core.BufferRecover.Call(ctx, cl, core.BufferRecoverParams{Buffer: info.Buffer}); err != nil {
		c.t.Fatal(err)
	}
	text, err := core.BufferText.Call(ctx, cl, core.BufferTextParams{Buffer: info.Buffer})
	if err != nil {
		c.t.Fatal(err)
	}
	lines := strings.Fields(text.Text)
	for i, line := range lines {
		if line != strconv.Itoa(len(lines)-1-i) {
			c.t.Fatalf("line %d of %d is %q: the recovered text isn't a state that was", i, len(lines), line)
		}
	}
	for i := len(lines); i < len(answered); i++ {
		if lost := killed.Sub(answered[i]); lost > lossLimit {
			c.t.Fatalf("edit %d of %d is lost, made %v before the kill", i, len(answered), lost)
		}
	}
}

// checkEnded waits for the run's end, which must come once.
func (c *realCore) checkEnded(run string) {
	c.t.Helper()
	late := time.After(patience)
	for {
		c.mu.Lock()
		ends := append([]core.RunEndedParams(nil), c.ends...)
		c.mu.Unlock()
		var of []core.RunEndedParams
		for _, e := range ends {
			if e.Run == run {
				of = append(of, e)
			}
		}
		if len(of) == 1 && !of[0].OK && of[0].Error.Code == op.CodeCancelled && of[0].Error.Reason() == "core_restarted" {
			return
		}
		if len(of) > 0 {
			c.t.Fatalf("the run ended with %+v", of)
		}
		select {
		case <-c.ended:
		case <-late:
			c.t.Fatalf("the run never ended; others: %+v", ends)
		}
	}
}
