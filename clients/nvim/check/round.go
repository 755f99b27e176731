package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"dragoman/client"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// killWait is how long a process may take to end once it is told to.
const killWait = 5 * time.Second

// command makes a command whose complaints are shown and that ends with ctx.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killWait
	return cmd
}

// A round is one core, one Neovim and one Go client on one file.
type round struct {
	o         options
	seed      int
	dir, root string

	socket string
	client *client.Client
	buffer string
	// others counts changes that other clients made.
	others atomic.Int64
}

const start = "one\ntwo ä🙂\nthree\n"

func (r *round) file() string { return filepath.Join(r.root, "a.txt") }

func (r *round) run(ctx context.Context) error {
	if err := os.MkdirAll(r.root, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(r.file(), []byte(start), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	server, err := r.startCore(ctx)
	if err != nil {
		cancel()
		return err
	}
	editor := r.nvim(ctx)
	if err = editor.Start(); err == nil {
		err = r.prove(ctx)
	}
	cancel()
	if editor.Process != nil {
		_ = editor.Wait()
	}
	_ = server.Wait()
	return err
}

// startCore starts a core and attaches to it.
func (r *round) startCore(ctx context.Context) (*exec.Cmd, error) {
	cmd := command(ctx, r.o.dragoman, "core", "--root", r.root, "--socket", filepath.Join(r.dir, "s"), "--state", filepath.Join(r.dir, "state"))
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+r.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var report struct {
		Socket string `json:"socket"`
	}
	err = errors.Join(err, json.Unmarshal(line, &report))
	if err == nil {
		r.socket = report.Socket
		r.client, err = client.New(ctx, client.Unix(r.socket), client.Options{
			Name: "check", PositionEncoding: []string{"utf-8"}, Events: []string{core.BufferChanged.Name}, OnEvent: r.event,
		})
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return cmd, nil
}

func (r *round) event(e client.Event) {
	var p core.BufferChangedParams
	if err := json.Unmarshal(e.Params, &p); err == nil && p.Origin.Client != r.client.Hello().ClientID {
		r.others.Add(1)
	}
}

func (r *round) nvim(ctx context.Context) *exec.Cmd {
	cmd := command(ctx, r.o.nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n",
		"--cmd", "set rtp+="+r.o.plugin, "-c", "luafile "+filepath.Join(r.o.plugin, "check", "driver.lua"))
	cmd.Env = append(os.Environ(), "DRAGOMAN_CHECK="+r.dir, "DRAGOMAN_SOCKET="+r.socket, "DRAGOMAN_FILE="+r.file(),
		fmt.Sprint("DRAGOMAN_SEED=", r.seed), fmt.Sprint("DRAGOMAN_EDITS=", r.o.edits), "XDG_STATE_HOME="+r.dir)
	return cmd
}

// prove edits beside Neovim and compares.
func (r *round) prove(ctx context.Context) error {
	defer r.client.Close()
	info, err := core.BufferOpen.Call(ctx, r.client, core.BufferOpenParams{PathIn: core.PathIn{Path: r.file()}})
	if err != nil {
		return err
	}
	r.buffer = info.Buffer
	shown, err := r.await(ctx, "shown")
	if err != nil || shown != start {
		return fmt.Errorf("Neovim showed %q: %w", shown, err)
	}
	rnd := rand.New(rand.NewPCG(uint64(r.seed), 1))
	for range r.o.edits {
		if err := r.edit(ctx, rnd); err != nil {
			return err
		}
	}
	if _, err := r.await(ctx, "edited"); err != nil {
		return err
	}
	// What Neovim didn't send yet comes before the answer to the marker.
	if err := r.same(ctx, 1, "GO WAS HERE"); err != nil {
		return err
	}
	if r.others.Load() == 0 {
		return errors.New("Neovim changed nothing")
	}
	// More than an event holds: Neovim has to read again.
	if err := r.same(ctx, 2, strings.Repeat("a long line of text\n", 80_000)+"AFTER THE RESET"); err != nil {
		return err
	}
	return r.saved(ctx)
}

// edit replaces a few random characters, again when the text moved meanwhile.
func (r *round) edit(ctx context.Context, rnd *rand.Rand) error {
	texts := []string{"", "g", "ö", "🙂", "\n", "go\nclient"}
	for {
		t, err := core.BufferText.Call(ctx, r.client, core.BufferTextParams{Buffer: r.buffer})
		if err != nil {
			return err
		}
		runes := []rune(t.Text)
		a := rnd.IntN(len(runes) + 1)
		b := min(len(runes), a+rnd.IntN(3))
		_, err = core.BufferEdit.Call(ctx, r.client, core.BufferEditParams{
			Buffer: r.buffer, Revision: &t.Revision,
			Edits: []core.Edit{{Range: core.Range{Start: at(runes, a), End: at(runes, b)}, Text: texts[rnd.IntN(len(texts))]}},
		})
		var refused *op.Error
		if errors.As(err, &refused) && refused.Code == op.CodeStale {
			continue
		}
		return err
	}
}

// at is the position of rune i.
func at(runes []rune, i int) (p core.Position) {
	for _, c := range runes[:i] {
		p.Character += int64(utf8.RuneLen(c))
		if c == '\n' {
			p = core.Position{Line: p.Line + 1}
		}
	}
	return p
}

// same puts text at the start, and compares what Neovim shows once it has it.
func (r *round) same(ctx context.Context, n int, text string) error {
	if err := r.insert(ctx, text); err != nil {
		return err
	}
	got, err := r.ask(ctx, n, text[max(0, len(text)-20):])
	if err != nil {
		return err
	}
	want, err := r.text(ctx)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("at marker %d Neovim shows %d bytes, the core has %d:\n%.400q\n%.400q", n, len(got), len(want), got, want)
	}
	return nil
}

func (r *round) insert(ctx context.Context, text string) error {
	_, err := core.BufferEdit.Call(ctx, r.client, core.BufferEditParams{Buffer: r.buffer, Edits: []core.Edit{{Text: text}}})
	return err
}

// ask has Neovim answer once it shows the marker.
func (r *round) ask(ctx context.Context, n int, marker string) (string, error) {
	name := filepath.Join(r.dir, fmt.Sprint("want-", n))
	if err := os.WriteFile(name+".part", []byte(marker), 0o600); err != nil {
		return "", err
	}
	if err := os.Rename(name+".part", name); err != nil {
		return "", err
	}
	return r.await(ctx, fmt.Sprint("text-", n))
}

// saved has Neovim write, and compares the file.
func (r *round) saved(ctx context.Context) error {
	if err := r.insert(ctx, "NOW SAVE\n"); err != nil {
		return err
	}
	modified, err := r.ask(ctx, 3, "NOW SAVE")
	if err != nil || modified != "false" {
		return fmt.Errorf("after :w modified is %q: %w", modified, err)
	}
	want, err := r.text(ctx)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(r.file())
	if err == nil && string(got) != want {
		err = errors.New("the saved file isn't the text")
	}
	return err
}

// text reads the whole buffer.
func (r *round) text(ctx context.Context) (string, error) {
	var all strings.Builder
	p := core.BufferTextParams{Buffer: r.buffer}
	for {
		t, err := core.BufferText.Call(ctx, r.client, p)
		if err != nil {
			return "", err
		}
		all.WriteString(t.Text)
		if t.EOF {
			return all.String(), nil
		}
		p.From, p.Revision = t.Next, &t.Revision
	}
}

// await waits for a file of Neovim's.
func (r *round) await(ctx context.Context, name string) (string, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		raw, err := os.ReadFile(filepath.Join(r.dir, name))
		if err == nil {
			return string(raw), nil
		}
		if why, err := os.ReadFile(filepath.Join(r.dir, "failed")); err == nil {
			return "", fmt.Errorf("Neovim: %s", why)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", fmt.Errorf("Neovim didn't tell %q: %w", name, ctx.Err())
		}
	}
}
