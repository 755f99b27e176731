package buffer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/go-json-experiment/json"

	"dragoman/client"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A mirror is a client's copy of a buffer, kept by events alone.
type mirror struct {
	mu       sync.Mutex
	changed  *sync.Cond
	unit     op.Unit
	text     []rune
	revision int64
	err      error
}

func newMirror(u op.Unit, text string) *mirror {
	m := &mirror{unit: u, text: []rune(text)}
	m.changed = sync.NewCond(&m.mu)
	return m
}

func (m *mirror) event(e client.Event) {
	if e.Name != core.BufferChanged.Name {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.changed.Broadcast()
	var p core.BufferChangedParams
	if err := json.Unmarshal(e.Params, &p); err != nil {
		m.err = err
		return
	}
	if p.From != m.revision || p.Reset {
		m.err = fmt.Errorf("change from %d, reset %v, at revision %d", p.From, p.Reset, m.revision)
		return
	}
	m.revision = p.Revision
	for _, ed := range p.Edits {
		start, end := m.offset(ed.Range.Start), m.offset(ed.Range.End)
		m.text = append(m.text[:start:start], append([]rune(ed.Text), m.text[end:]...)...)
	}
}

// offset finds a position in runes.
func (m *mirror) offset(p core.Position) int {
	i := 0
	for line := p.Line; line > 0; i++ {
		if m.text[i] == '\n' {
			line--
		}
	}
	for left := p.Character; left > 0; i++ {
		switch m.unit {
		case op.UTF8:
			left -= int64(len(string(m.text[i])))
		case op.UTF16:
			left -= int64(utf16.RuneLen(m.text[i]))
		case op.UTF32:
			left--
		}
	}
	return i
}

// random picks a range and a text for it, on what the mirror has.
func (m *mirror) random(rnd *rand.Rand) (core.Edit, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, b := rnd.IntN(len(m.text)+1), rnd.IntN(len(m.text)+1)
	if a > b {
		a, b = b, a
	}
	b = min(b, a+3)
	texts := []string{"", "x", "é", "🙂", "\n", "two\nlines"}
	return core.Edit{
		Range: core.Range{Start: m.position(a), End: m.position(b)}, Text: texts[rnd.IntN(len(texts))],
	}, m.revision
}

func (m *mirror) position(i int) (p core.Position) {
	for _, r := range m.text[:i] {
		switch {
		case r == '\n':
			p = core.Position{Line: p.Line + 1}
		case m.unit == op.UTF8:
			p.Character += int64(len(string(r)))
		case m.unit == op.UTF16:
			p.Character += int64(utf16.RuneLen(r))
		default:
			p.Character++
		}
	}
	return p
}

func (m *mirror) await(t *testing.T, revision int64) string {
	t.Helper()
	late := time.AfterFunc(patience, m.changed.Broadcast)
	defer late.Stop()
	end := time.Now().Add(patience)
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.revision < revision && m.err == nil && time.Now().Before(end) {
		m.changed.Wait()
	}
	if m.err != nil || m.revision != revision {
		t.Fatalf("at revision %d, want %d: %v", m.revision, revision, m.err)
	}
	return string(m.text)
}

// TestClientsConverge lets three clients with three units edit one buffer at
// once: each edit is applied for all or refused as stale, and in the end all
// have the same text (core.md §5).
func TestClientsConverge(t *testing.T) {
	const rounds, edits = 200, 12
	w := newWorld(t)
	ctx := context.Background()
	for round := range rounds {
		const start = "a🙂b\nçd\n"
		maker := w.attach(client.Options{}, op.Control)
		info, err := core.BufferNew.Call(ctx, maker, core.BufferNewParams{Text: start})
		if err != nil {
			t.Fatal(err)
		}
		mirrors := make([]*mirror, op.Units)
		clients := make([]*client.Client, op.Units)
		for u := range op.Units {
			mirrors[u] = newMirror(u, start)
			mirrors[u].revision = info.Revision
			clients[u] = w.attach(client.Options{
				PositionEncoding: []string{u.String()}, OnEvent: mirrors[u].event,
			}, op.Control)
		}
		var wg sync.WaitGroup
		for u := range op.Units {
			rnd := rand.New(rand.NewPCG(uint64(round), uint64(u)))
			wg.Go(func() {
				for range edits {
					e, revision := mirrors[u].random(rnd)
					_, err := core.BufferEdit.Call(ctx, clients[u], core.BufferEditParams{
						Buffer: info.Buffer, Edits: []core.Edit{e}, Revision: &revision,
					})
					var refused *op.Error
					if err != nil && (!errors.As(err, &refused) || refused.Code != op.CodeStale) {
						t.Errorf("edit: %v", err)
					}
				}
			})
		}
		wg.Wait()
		got, err := core.BufferText.Call(ctx, maker, core.BufferTextParams{Buffer: info.Buffer})
		if err != nil {
			t.Fatal(err)
		}
		for u, m := range mirrors {
			if text := m.await(t, got.Revision); text != got.Text {
				t.Fatalf("round %d: %s has %q, the core %q", round, op.Unit(u), text, got.Text)
			}
		}
		for _, c := range append(clients, maker) {
			c.Close()
		}
	}
}

func TestOpenEditSave(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	path := w.file("a.txt", "one\r\ntwo\n")
	c := w.attach(client.Options{}, op.Control)
	opened, err := core.BufferOpen.Call(ctx, c, core.BufferOpenParams{PathIn: core.PathIn{Path: "a.txt"}})
	if err != nil || !opened.Mixed || *opened.Path != path || opened.Existing {
		t.Fatalf("%+v %v", opened, err)
	}
	again, err := core.BufferOpen.Call(ctx, c, core.BufferOpenParams{PathIn: core.PathIn{Path: path}})
	if err != nil || !again.Existing || again.Buffer != opened.Buffer {
		t.Errorf("%+v %v", again, err)
	}
	at := core.Position{Line: 0, Character: 3}
	if _, err := core.BufferEdit.Call(ctx, c, core.BufferEditParams{
		Buffer: opened.Buffer, Edits: []core.Edit{{Range: core.Range{Start: at, End: at}, Text: "!"}},
	}); err != nil {
		t.Fatal(err)
	}
	diff, err := core.BufferDiff.Call(ctx, c, core.BufferDiffParams{Buffer: opened.Buffer, Against: core.Against{Word: "disk"}})
	if err != nil || !strings.Contains(diff.Unified, "+one!") {
		t.Errorf("%q %v", diff.Unified, err)
	}
	saved, err := core.BufferSave.Call(ctx, c, core.BufferSaveParams{Buffer: opened.Buffer})
	if err != nil || saved.Modified {
		t.Errorf("%+v %v", saved, err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != "one!\r\ntwo\n" {
		t.Errorf("on disk %q", raw)
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.file("bin", "a\x00b")
	w.file("a.txt", "x")
	c := w.attach(client.Options{}, op.Control)
	observer := w.attach(client.Options{}, op.Observe)
	open := func(c *client.Client, path string) error {
		_, err := core.BufferOpen.Call(ctx, c, core.BufferOpenParams{PathIn: core.PathIn{Path: path}})
		return err
	}
	if err := open(c, "a.txt"); err != nil {
		t.Fatal(err)
	}
	far := core.Position{Line: 9}
	_, badIndex := core.BufferText.Call(ctx, c, core.BufferTextParams{Buffer: "b1", From: &far})
	old := int64(-1)
	_, stale := core.BufferUndo.Call(ctx, c, core.BufferUndoParams{Buffer: "b1", Revision: &old})
	_, query := core.BufferMatches.Call(ctx, c, core.BufferMatchesParams{Buffer: "b1", Query: "(", Options: core.FindOptions{Regex: true}})
	_, noPath := core.BufferSave.Call(ctx, c, core.BufferSaveParams{Buffer: func() string {
		i, err := core.BufferNew.Call(ctx, c, core.BufferNewParams{})
		if err != nil {
			t.Fatal(err)
		}
		return i.Buffer
	}()})
	_, item := core.BufferRecover.Call(ctx, c, core.BufferRecoverParams{ID: "none"})
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"outside":             {open(c, "../x"), "outside_root"},
		"binary":              {open(c, "bin"), "binary_file"},
		"new by an observer":  {open(observer, "new.txt"), "denied role"},
		"file by an observer": {open(observer, "a.txt"), ""},
		"position":            {badIndex, "bad_index"},
		"revision":            {stale, "stale"},
		"query":               {query, "bad_request syntax"},
		"no path":             {noPath, "no_path"},
		"recovery":            {item, "not_found"},
	} {
		got := ""
		var e *op.Error
		if errors.As(tt.err, &e) {
			got = strings.TrimSpace(string(e.Code) + " " + e.Reason())
		}
		if got != tt.want {
			t.Errorf("%s: %q (%v), want %q", name, got, tt.err, tt.want)
		}
	}
	var e *op.Error
	if errors.As(badIndex, &e); e == nil || e.Data["key"] != "from" || e.Data["position"] == nil {
		t.Errorf("bad_index data %v", e)
	}
}
