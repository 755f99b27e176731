package app_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/client"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A shownText is a client's copy of a buffer, kept by events alone. Texts
// here are ASCII, so that bytes are characters.
type shownText struct {
	mu       sync.Mutex
	moved    chan struct{}
	text     string
	revision int64
	err      error
}

func (s *shownText) event(e client.Event) {
	var p core.BufferChangedParams
	if e.Name != core.BufferChanged.Name {
		return
	}
	err := json.Unmarshal(e.Params, &p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || p.From != s.revision {
		s.err = fmt.Errorf("at revision %d came %s: %v", s.revision, e.Params, err)
		return
	}
	for _, ed := range p.Edits {
		s.text = s.text[:s.offset(ed.Range.Start)] + ed.Text + s.text[s.offset(ed.Range.End):]
	}
	s.revision = p.Revision
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

func (s *shownText) offset(p core.Position) (at int) {
	for line := p.Line; line > 0; at++ {
		if s.text[at] == '\n' {
			line--
		}
	}
	return at + int(p.Character)
}

// pick chooses a random edit of what is shown.
func (s *shownText) pick(rnd *rand.Rand) (core.Edit, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := rnd.IntN(len(s.text) + 1)
	b := min(len(s.text), a+rnd.IntN(4))
	return core.Edit{
		Range: core.Range{Start: s.position(a), End: s.position(b)},
		Text:  []string{"", "x", "\n", "two\nlines"}[rnd.IntN(4)],
	}, s.revision
}

func (s *shownText) position(offset int) (p core.Position) {
	for _, c := range s.text[:offset] {
		p.Character++
		if c == '\n' {
			p = core.Position{Line: p.Line + 1}
		}
	}
	return p
}

func (s *shownText) await(t *testing.T, revision int64) string {
	t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		text, at, err := s.text, s.revision, s.err
		s.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if at == revision {
			return text
		}
		select {
		case <-s.moved:
		case <-late:
			t.Fatalf("at revision %d, not %d", at, revision)
		}
	}
}

// TestTwoClientsConverge has two clients edit one buffer at once over the
// socket of a real core, hundreds of times: what isn't refused as stale is
// applied for both, and both end with the core's text (core.md §5).
func TestTwoClientsConverge(t *testing.T) {
	t.Parallel()
	const rounds, edits = 300, 10
	ctx, cancel := context.WithTimeout(context.Background(), 8*patience)
	defer cancel()
	c := newRealCore(t)
	c.start()
	var applied, stale int
	for round := range rounds {
		maker, err := client.New(ctx, client.Unix(c.socket), client.Options{Once: true})
		if err != nil {
			t.Fatal(err)
		}
		const start = "some\ntext\n"
		info, err := core.BufferNew.Call(ctx, maker, core.BufferNewParams{Text: start})
		if err != nil {
			t.Fatal(err)
		}
		a, b := converge(ctx, t, c.socket, round, edits, info, start)
		final, err := core.BufferText.Call(ctx, maker, core.BufferTextParams{Buffer: info.Buffer})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*editor{a, b} {
			if text := e.shown.await(t, final.Revision); text != final.Text {
				t.Fatalf("round %d: a client shows %q, the core has %q", round, text, final.Text)
			}
			applied, stale = applied+e.applied, stale+e.stale
			e.client.Close()
		}
		maker.Close()
	}
	if applied == 0 || stale == 0 {
		t.Errorf("%d edits were applied and %d stale: nothing met", applied, stale)
	}
}

// An editor is a client that edits.
type editor struct {
	client         *client.Client
	shown          *shownText
	applied, stale int
}

func converge(ctx context.Context, t *testing.T, socket string, round, edits int, info core.BufferInfo, start string) (a, b *editor) {
	t.Helper()
	both := []*editor{}
	for range 2 {
		e := &editor{shown: &shownText{moved: make(chan struct{}, 1), text: start, revision: info.Revision}}
		var err error
		e.client, err = client.New(ctx, client.Unix(socket), client.Options{
			OnEvent: e.shown.event, Events: []string{core.BufferChanged.Name}, Once: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, e)
	}
	var wg sync.WaitGroup
	for i, e := range both {
		rnd := rand.New(rand.NewPCG(uint64(round), uint64(i)))
		wg.Go(func() {
			for range edits {
				e.edit(ctx, t, rnd, info.Buffer)
			}
		})
	}
	wg.Wait()
	return both[0], both[1]
}

func (e *editor) edit(ctx context.Context, t *testing.T, rnd *rand.Rand, buffer string) {
	edit, revision := e.shown.pick(rnd)
	_, err := core.BufferEdit.Call(ctx, e.client, core.BufferEditParams{
		Buffer: buffer, Revision: &revision, Edits: []core.Edit{edit},
	})
	var refused *op.Error
	switch {
	case err == nil:
		e.applied++
	case errors.As(err, &refused) && refused.Code == op.CodeStale:
		e.stale++
	default:
		t.Errorf("edit: %v", err)
	}
}
