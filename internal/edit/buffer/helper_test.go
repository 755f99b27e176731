package buffer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"go.uber.org/goleak"

	"dragoman/internal/edit/recovery"
	"dragoman/internal/edit/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fataler is what testing.T and rapid.T share.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// mirror is an observer that keeps every buffer's text by the changes alone,
// once for each unit, as a client would.
type mirror struct {
	t        fataler
	mu       sync.Mutex
	texts    map[ID]*[UnitCount][]string
	revision map[ID]int64
	log      []string
}

func (m *mirror) Units() [UnitCount]bool { return [UnitCount]bool{true, true, true} }

func (m *mirror) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *mirror) Opened(i Info) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.revision[i.Buffer] = i.Revision
	m.note("opened %s", i.Buffer)
}

func (m *mirror) Closed(b ID, _, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.texts, b)
	m.note("closed %s %s", b, reason)
}

func (m *mirror) Saved(s Saved) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note("saved %s %d", s.Buffer, s.Revision)
}

func (m *mirror) Info(i Info, members []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note("info %s %s", i.Buffer, strings.Join(members, ","))
}

func (m *mirror) Changed(c Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note("changed %s %d %s", c.Buffer, c.Revision, c.Origin.Reason)
	if c.From != m.revision[c.Buffer] || c.Revision != c.From+1 {
		m.t.Fatalf("change from %d to %d after revision %d", c.From, c.Revision, m.revision[c.Buffer])
	}
	m.revision[c.Buffer] = c.Revision
	texts := m.texts[c.Buffer]
	if texts == nil {
		return
	}
	if len(c.Edits) == 0 {
		m.t.Fatalf("a change without edits")
	}
	for u := range texts {
		for _, e := range c.Edits {
			texts[u] = applyWire(m.t, texts[u], e.Ranges[u], e.Text, text.Unit(u))
		}
	}
}

// start makes the mirror follow a buffer.
func (m *mirror) start(b ID, s string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := strings.Split(s, "\n")
	m.texts[b] = &[UnitCount][]string{lines, lines, lines}
}

func (m *mirror) check(b ID, want string) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for u, lines := range m.texts[b] {
		if got := strings.Join(lines, "\n"); got != want {
			m.t.Fatalf("the mirror in %s has %q, the buffer %q", text.Unit(u), got, want)
		}
	}
}

// applyWire does what a client does with one edit of a change.
func applyWire(t fataler, lines []string, r Range, s string, u text.Unit) []string {
	t.Helper()
	cut := func(p text.Position) (string, string) {
		line := lines[p.Line]
		switch u {
		case text.UTF16:
			units := utf16.Encode([]rune(line))
			return string(utf16.Decode(units[:p.Character])), string(utf16.Decode(units[p.Character:]))
		case text.UTF32:
			runes := []rune(line)
			return string(runes[:p.Character]), string(runes[p.Character:])
		default:
			return line[:p.Character], line[p.Character:]
		}
	}
	before, _ := cut(r.Start)
	_, after := cut(r.End)
	out := append([]string(nil), lines[:r.Start.Line]...)
	out = append(out, strings.Split(before+s+after, "\n")...)
	return append(out, lines[r.End.Line+1:]...)
}

// world is a set over a temporary folder.
type world struct {
	t      fataler
	dir    string
	set    *Set
	mirror *mirror
	logs   *recovery.Store
	clock  time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldIn(t, t, t.TempDir())
}

func worldIn(t *testing.T, f fataler, dir string) *world {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: f, dir: real, clock: time.Unix(1e9, 0)}
	w.open()
	t.Cleanup(func() { _ = w.logs.Close() })
	return w
}

func (w *world) open() {
	w.mirror = &mirror{t: w.t, texts: map[ID]*[UnitCount][]string{}, revision: map[ID]int64{}}
	w.logs = recovery.Open(filepath.Join(w.dir, ".state"))
	w.set = New(Options{Observer: w.mirror, Recovery: w.logs, Now: func() time.Time { return w.clock }})
}

// crash starts anew over the same folder.
func (w *world) crash() {
	w.t.Helper()
	if err := w.logs.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, s string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(s), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// edit opens what is at name and mirrors it.
func (w *world) openFile(name string) ID {
	w.t.Helper()
	info, _, err := w.set.Open(context.Background(), OpenParams{Path: w.path(name), Client: "c1"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.mirror.start(info.Buffer, w.text(info.Buffer))
	return info.Buffer
}

func (w *world) text(b ID) string {
	w.t.Helper()
	t, _, err := w.set.Snapshot(b)
	if err != nil {
		w.t.Fatal(err)
	}
	return t.String()
}

func (w *world) info(b ID) Info {
	w.t.Helper()
	info, err := w.set.Get(b)
	if err != nil {
		w.t.Fatal(err)
	}
	return info
}

func at(line, character int) text.Position { return text.Position{Line: line, Character: character} }

func span(l1, c1, l2, c2 int) Range { return Range{at(l1, c1), at(l2, c2)} }

// do edits one range.
func (w *world) do(b ID, r Range, s string) EditResult {
	w.t.Helper()
	res, err := w.set.Edit(EditParams{Buffer: b, Edits: []Edit{{r, s}}, Origin: Origin{Kind: "client", Client: "c1"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

func (w *world) save(b ID) (Info, error) {
	return w.set.Save(context.Background(), SaveParams{Buffer: b})
}

// wantCode requires an *Error with a code and a reason.
func wantCode(t fataler, err error, code Code, reason string) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok || e.Code != code || e.Reason != reason {
		t.Fatalf("got %v, want %s {%s}", err, code, reason)
	}
}

func ptr[T any](v T) *T { return &v }
