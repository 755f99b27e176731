package lanetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/wire/agent"
)

// Run runs the suite: what the engine and the faces may rely on in every
// lane (lanes.md §1, §2; the comments of package lane).
func Run(t *testing.T, h Harness) {
	if len(h.CrashCodes) == 0 {
		h.CrashCodes = []string{agent.CodeProtocolFailed}
	}
	h.run(t, "echo", h.echo)
	h.run(t, "two turns", h.twoTurns)
	h.run(t, "chunks keep their order", h.chunks)
	h.run(t, "a slow host loses nothing", h.slowHost)
	h.run(t, "cancel", h.cancel)
	h.run(t, "cancel before the prompt", h.cancelEarly)
	if !h.Lacks.LongClocks {
		h.run(t, "a cancel that nobody answers", h.cancelDeaf)
	}
	h.run(t, "crash in a turn", h.crash)
	h.run(t, "close in a turn", h.closeInTurn)
	h.run(t, "close with a host that doesn't read", h.closeHeld)
	h.questions(t)
	h.openings(t)
}

// text is the text of a turn, wherever the lane gives it.
func (b *bench) text(number uint64, res result) string {
	if b.conn.Info().TextInChunks || !b.h.Lacks.Chunks {
		return b.Text(number)
	}
	return res.outcome.Text
}

// ended checks an outcome that isn't an error, and that its events were
// there before it.
func (b *bench) ended(number uint64, res result, stop, text string) {
	b.t.Helper()
	if res.err != nil {
		b.t.Errorf("turn %d: %v", number, res.err)
		return
	}
	if res.outcome.StopReason != stop {
		b.t.Errorf("turn %d: stop reason %q, want %q", number, res.outcome.StopReason, stop)
	}
	if got := b.text(number, res); got != text {
		b.t.Errorf("turn %d: text %q, want %q", number, clip(got), clip(text))
	}
	last := -1
	for i, ev := range b.Events() {
		if ev.Turn == number {
			last = i
		}
	}
	if last >= res.events {
		b.t.Errorf("turn %d: event %d came after the outcome", number, last)
	}
}

// clip shortens a text for a message.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

func (h *Harness) echo(t *testing.T) {
	b := h.open(t)
	defer b.close()
	b.ended(1, b.prompt(1, Echo), agent.StopEndTurn, EchoText)
}

func (h *Harness) twoTurns(t *testing.T) {
	b := h.open(t)
	defer b.close()
	b.ended(1, b.prompt(1, Echo), agent.StopEndTurn, EchoText)
	b.ended(2, b.prompt(2, Echo), agent.StopEndTurn, EchoText)
}

func (h *Harness) chunks(t *testing.T) {
	b := h.open(t)
	defer b.close()
	b.ended(1, b.prompt(1, Chunks), agent.StopEndTurn, chunkText())
}

func chunkText() string {
	var want strings.Builder
	for i := range ChunkCount {
		fmt.Fprintf(&want, "%d ", i)
	}
	return want.String()
}

func (h *Harness) slowHost(t *testing.T) {
	b := h.open(t)
	defer b.close()
	hold := make(chan struct{})
	b.HoldUntil(hold)
	r := b.start(1, Chunks)
	time.AfterFunc(time.Second, func() { close(hold) })
	b.ended(1, r.wait(), agent.StopEndTurn, chunkText())
}

// working waits until the fake has said that it works, where that shows.
func (b *bench) working(number uint64) {
	b.t.Helper()
	if b.h.Lacks.Chunks {
		time.Sleep(time.Second)
		return
	}
	b.until("the agent's first word", func(s *Sink) bool { return s.Text(number) == Working })
}

func (h *Harness) cancel(t *testing.T) {
	b := h.open(t)
	defer b.close()
	r := b.start(1, Hang)
	b.working(1)
	close(r.cancel)
	b.ended(1, r.wait(), agent.StopCancelled, Working)
	if h.Lacks.ReusableProcess {
		return
	}
	b.ended(2, b.prompt(2, Echo), agent.StopEndTurn, EchoText)
	if got := b.Text(1); got != Working && !h.Lacks.Chunks {
		t.Errorf("turn 1 grew to %q after its end", got)
	}
}

func (h *Harness) cancelEarly(t *testing.T) {
	b := h.open(t)
	defer b.close()
	r := b.start(1, Hang)
	close(r.cancel)
	res := r.wait()
	if res.err != nil || res.outcome.StopReason != agent.StopCancelled {
		t.Errorf("outcome %+v, error %v, want cancelled", res.outcome, res.err)
	}
}

func (h *Harness) cancelDeaf(t *testing.T) {
	b := h.open(t)
	defer b.close()
	r := b.start(1, Deaf)
	b.working(1)
	close(r.cancel)
	res := r.wait()
	b.ended(1, res, agent.StopCancelled, Working)
	if h.Lacks.CancelClock {
		return
	}
	if res.outcome.Suspect != agent.SuspectCancelUnanswered {
		t.Errorf("suspect %q, want %q", res.outcome.Suspect, agent.SuspectCancelUnanswered)
	}
	b.failed(b.prompt(2, Echo), agent.CodeRecoveryRequired)
}

// failed checks that a prompt failed with one of codes.
func (b *bench) failed(res result, codes ...string) *agent.Error {
	b.t.Helper()
	var e *agent.Error
	if !errors.As(res.err, &e) {
		b.t.Errorf("outcome %+v, error %v, want an agent.Error of %v", res.outcome, res.err, codes)
		return &agent.Error{}
	}
	if !slices.Contains(codes, e.Code) {
		b.t.Errorf("error %v, want one of %v", e, codes)
	}
	return e
}

func (h *Harness) crash(t *testing.T) {
	b := h.open(t)
	defer b.close()
	res := b.prompt(1, Crash)
	if !h.Lacks.Chunks {
		if got := b.Text(1); got != Partial {
			t.Errorf("text %q, want %q", got, Partial)
		}
	}
	if h.Lacks.CrashError {
		if res.err != nil || res.outcome.StopReason != agent.StopError {
			t.Errorf("outcome %+v, error %v, want stop reason error", res.outcome, res.err)
		}
		return
	}
	e := b.failed(res, h.CrashCodes...)
	if !e.UncertainEffect {
		t.Errorf("%v: the effect of a crash is uncertain", e)
	}
	for _, part := range []string{fmt.Sprint(CrashCode), LastWords} {
		if !strings.Contains(e.Detail, part) {
			t.Errorf("detail %q doesn't say %q", e.Detail, part)
		}
	}
	if res := b.prompt(2, Echo); res.err == nil && !h.Lacks.ReusableProcess {
		t.Errorf("a prompt to a dead agent ended with %+v", res.outcome)
	}
}

// closed checks how a turn that a close ends settles.
func (b *bench) closed(res result) {
	b.t.Helper()
	if b.h.ClosedTurnIsOutcome {
		if res.err != nil || res.outcome.StopReason != agent.StopCancelled {
			b.t.Errorf("outcome %+v, error %v, want cancelled", res.outcome, res.err)
		}
		return
	}
	if e := b.failed(res, agent.CodeSessionClosed); e.Retryable || !e.UncertainEffect {
		b.t.Errorf("flags of %+v, want no/yes", e)
	}
}

func (h *Harness) closeInTurn(t *testing.T) {
	b := h.open(t)
	r := b.start(1, Hang)
	b.working(1)
	b.close()
	b.closed(r.wait())
}

func (h *Harness) closeHeld(t *testing.T) {
	b := h.open(t)
	b.HoldUntil(make(chan struct{})) // never
	r := b.start(1, Chunks)
	time.Sleep(time.Second)
	b.close()
	b.closed(r.wait())
}

// openings are the cases in which no session comes to be.
func (h *Harness) openings(t *testing.T) {
	tests := []struct {
		opening Opening
		codes   []string
		applies bool
	}{
		{OpenMissing, []string{agent.CodeProcessStartFailed}, true},
		{OpenCrash, h.CrashCodes, !h.Lacks.Handshake},
		{OpenSilent, append([]string{agent.CodeTransportFailed}, h.CrashCodes...), !h.Lacks.Handshake && !h.Lacks.LongClocks},
	}
	for _, tt := range tests {
		if !tt.applies {
			continue
		}
		h.run(t, "open: "+string(tt.opening), func(t *testing.T) {
			b, launch := h.launch(t, tt.opening)
			conn, err := h.plan(t, tt.opening).Open(b.ctx, launch)
			if err == nil && h.Lacks.ReusableProcess && tt.opening == OpenMissing {
				b.conn = conn // shows at the first prompt
				err = b.prompt(1, Echo).err
				b.close()
			}
			b.failed(result{err: err}, tt.codes...)
			b.gone()
		})
	}
	if h.Lacks.Handshake {
		return
	}
	h.run(t, "open: given up", func(t *testing.T) {
		b, launch := h.launch(t, OpenSilent)
		ctx, cancel := context.WithCancel(b.ctx)
		time.AfterFunc(time.Second, cancel)
		if _, err := h.plan(t, OpenSilent).Open(ctx, launch); err == nil {
			t.Error("Open succeeded with an agent that says nothing")
		}
		b.gone()
	})
}
