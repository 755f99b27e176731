package double

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"dragoman/wire/envelope"
	"dragoman/wire/ndjson"
)

// Streams are the double's three streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// A Mismatch says what came instead of what the scenario expects.
type Mismatch struct {
	// Line of the scenario.
	Line   int
	Detail string
}

// Error names the line of the scenario.
func (e *Mismatch) Error() string { return fmt.Sprintf("scenario line %d: %s", e.Line, e.Detail) }

// An action is what a step does.
type action func(p *player, st *step) error

// verbs are the steps by the member that names each.
var verbs []struct {
	name  string
	given func(*step) bool
	run   action
}

func init() { // the actions run steps, which have actions
	verbs = []struct {
		name  string
		given func(*step) bool
		run   action
	}{
		{"as", func(st *step) bool { return st.As != "" }, func(p *player, st *step) error { p.as = st.As; return nil }},
		{"expect", func(st *step) bool { return st.Expect != nil }, (*player).expect},
		{"expectEnd", func(st *step) bool { return st.ExpectEnd }, (*player).expectEnd},
		{"send", func(st *step) bool { return st.Send != nil }, (*player).send},
		{"raw", func(st *step) bool { return st.Raw != nil }, (*player).raw},
		{"base64", func(st *step) bool { return st.Base64 != nil }, (*player).raw},
		{"stderr", func(st *step) bool { return st.Stderr != nil }, (*player).stderr},
		{"delayMs", func(st *step) bool { return st.DelayMs > 0 }, func(p *player, st *step) error { return p.pause(st.DelayMs) }},
		{"on", func(st *step) bool { return st.On != nil }, func(p *player, st *step) error { p.rules = append(p.rules, st); return nil }},
		{"times and do", func(st *step) bool { return st.Do != nil && st.On == nil }, (*player).repeat},
		{"serve", func(st *step) bool { return st.Serve }, (*player).serve},
		{"hang", func(st *step) bool { return st.Hang }, func(p *player, _ *step) error { <-p.ctx.Done(); return p.ctx.Err() }},
		{"exit", func(st *step) bool { return st.Exit != nil }, func(_ *player, st *step) error { return exit(*st.Exit) }},
	}
}

// exit is how a step ends the scenario.
type exit int

// Error says the status.
func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// A player plays one scenario.
type player struct {
	ctx     context.Context
	streams Streams
	lines   <-chan []byte // closed at the end of the input
	as      string
	rules   []*step
	names   map[string][]byte
	sent    int // envelopes
	busy    bool
}

// Play plays the scenario and returns the status to exit with. The error is a
// [*Mismatch] where the peer didn't do as expected (status 1), ctx's, or a
// stream's. One goroutine goes on reading In until its end: whoever exits
// then, or closes In, ends it.
func (s *Scenario) Play(ctx context.Context, streams Streams) (status int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan []byte)
	go read(ctx, streams.In, lines)
	p := &player{ctx: ctx, streams: streams, lines: lines, names: make(map[string][]byte)}
	err = p.steps(s.steps)
	var code exit
	if errors.As(err, &code) {
		return int(code), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// read hands on each line. What is no whole line is one too.
func read(ctx context.Context, in io.Reader, lines chan<- []byte) {
	defer close(lines)
	r := ndjson.NewReader(in, ndjson.ReaderOptions{})
	for {
		line, err := r.Next()
		var long *ndjson.LineTooLongError
		if errors.As(err, &long) {
			line, err = long.Head, nil
		}
		if err != nil {
			return
		}
		select {
		case lines <- bytes.Clone(line):
		case <-ctx.Done():
			return
		}
	}
}

func (p *player) steps(list []step) error {
	for i := range list {
		if err := list[i].run(p, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) repeat(st *step) error {
	for range max(st.Times, 1) {
		if err := p.steps(st.Do); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) pause(ms int) error {
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// next is the next line that no rule takes; nil at the end of the input.
func (p *player) next(st *step) ([]byte, error) {
	var late <-chan time.Time
	if st.WithinMs > 0 {
		t := time.NewTimer(time.Duration(st.WithinMs) * time.Millisecond)
		defer t.Stop()
		late = t.C
	}
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return nil, nil
			}
			if taken, err := p.rule(line); taken || err != nil {
				if err != nil {
					return nil, err
				}
				continue
			}
			return line, nil
		case <-late:
			return nil, &Mismatch{st.line, fmt.Sprintf("nothing came within %d ms", st.WithinMs)}
		case <-p.ctx.Done():
			return nil, p.ctx.Err()
		}
	}
}

// rule runs the first rule that a line matches. Within a rule, lines go to
// its own steps.
func (p *player) rule(line []byte) (taken bool, err error) {
	if p.busy {
		return false, nil
	}
	for _, st := range p.rules {
		if matches(st.On, line) {
			p.busy = true
			p.names["message"] = line
			if st.Name != "" {
				p.names[st.Name] = line
			}
			err := p.steps(st.Do)
			p.busy = false
			return true, err
		}
	}
	return false, nil
}

func (p *player) expect(st *step) error {
	for {
		line, err := p.next(st)
		switch {
		case err != nil:
			return err
		case line == nil:
			return &Mismatch{st.line, "the input ended, expected " + string(st.Expect)}
		case matches(st.Expect, line):
			if st.Name != "" {
				p.names[st.Name] = line
			}
			return nil
		case !st.Skip:
			return &Mismatch{st.line, fmt.Sprintf("got %s, expected %s", envelope.Excerpt(line), st.Expect)}
		}
	}
}

func (p *player) expectEnd(st *step) error {
	line, err := p.next(st)
	if err == nil && line != nil {
		err = &Mismatch{st.line, "got " + envelope.Excerpt(line) + ", expected the end"}
	}
	return err
}

func (p *player) serve(st *step) error {
	for {
		line, err := p.next(st)
		if line == nil {
			return err
		}
	}
}

func (p *player) stderr(st *step) error {
	_, err := io.WriteString(p.streams.Err, *st.Stderr+"\n")
	return err
}

func (p *player) raw(st *step) error {
	b := st.Base64
	if st.Raw != nil {
		b = []byte(*st.Raw)
	}
	return p.write(st, bytes.Repeat(b, max(st.Times, 1)))
}

func (p *player) send(st *step) error {
	line, err := p.fill(st)
	if err != nil {
		return err
	}
	if p.as == "envelope" {
		line = p.complete(line)
	}
	return p.write(st, append(line, '\n'))
}

// write writes in pieces where the step says so.
func (p *player) write(st *step, b []byte) error {
	begin := 0
	for _, at := range append(st.SplitAt[:len(st.SplitAt):len(st.SplitAt)], len(b)) {
		if at = min(at, len(b)); at == begin {
			continue
		}
		if begin > 0 && st.PauseMs > 0 {
			if err := p.pause(st.PauseMs); err != nil {
				return err
			}
		}
		if _, err := p.streams.Out.Write(b[begin:at]); err != nil {
			return err
		}
		begin = at
	}
	return nil
}
