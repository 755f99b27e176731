package lanetest

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// Words of a prompt: what the fake agent is to do (see the package's
// description).
const (
	Echo   = "lanetest-echo"
	Chunks = "lanetest-chunks"
	Ask    = "lanetest-ask"
	Hang   = "lanetest-hang"
	Deaf   = "lanetest-deaf"
	Crash  = "lanetest-crash"
)

// What the fake says and does.
const (
	ChunkCount = 10_000
	CallID     = "lanetest-call"
	Granted    = "granted"
	Refused    = "refused"
	Working    = "working"
	Partial    = "partial"
	LastWords  = "lanetest: out of cheese"
	CrashCode  = 9
)

// EchoText is the answer to [Echo].
const EchoText = "echo: " + Echo

// An Opening is how the fake behaves before the session is open.
type Opening string

// The openings. OpenMissing's program is [MissingProgram]; OpenCrash exits at
// once with [LastWords] and [CrashCode]; OpenSilent answers nothing.
const (
	OpenGood    Opening = "good"
	OpenMissing Opening = "missing"
	OpenCrash   Opening = "crash"
	OpenSilent  Opening = "silent"
)

// Lacks names what a lane can't do, so that its cases don't apply. Every
// true member needs a reason in the lane's own test.
type Lacks struct {
	// Questions: the lane has no permission questions.
	Questions bool
	// Chunks: text comes whole, with the outcome.
	Chunks bool
	// Handshake: nothing is said before the first prompt, so an agent that
	// dies or is silent at open shows only then.
	Handshake bool
	// CancelClock: a cancel that isn't answered is enforced by ending the
	// process instead of fencing the turn.
	CancelClock bool
	// CrashError: a process that fails is a result (stopReason error), not an
	// error.
	CrashError bool
	// ReusableProcess: one process a turn.
	ReusableProcess bool
	// LongClocks: the cases run in real time, where those that wait for a
	// clock of 10 s and more take too long.
	LongClocks bool
}

// A Harness says how to test one lane.
type Harness struct {
	Driver lane.Driver
	// Spec makes the spec whose agent opens like that. For OpenMissing its
	// command.program is MissingProgram.
	Spec func(o Opening) *agent.Spec
	// Agent makes the fake agent that opens like that.
	Agent func(o Opening) Program
	// Starter, when it isn't nil, takes the place of PipeStarter(Agent(o)).
	Starter func(t testing.TB, o Opening) lane.Starter
	// Allow and Reject are the ids of the options that the fake offers.
	Allow, Reject string
	Lacks         Lacks
	// CrashCodes are the error codes that a crash in a turn may have;
	// default agent_protocol_failed.
	CrashCodes []string
	// ClosedTurn says whether a turn that a close ends is an outcome
	// (`cancelled`) instead of agent_session_closed.
	ClosedTurnIsOutcome bool
	// RealTime runs the cases outside of a synctest bubble, in parallel.
	RealTime bool
}

// Clocks of every opening.
const (
	connectTimeout = 30 * time.Second
	openTimeout    = 120 * time.Second
)

// patience bounds every wait of the suite. In a bubble it costs nothing.
const patience = 60 * time.Second

// run runs f as a subtest, in a bubble unless the harness says RealTime.
func (h *Harness) run(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		if h.RealTime {
			t.Parallel()
			f(t)
			return
		}
		synctest.Test(t, f)
	})
}

// A bench is one lane under test: a session, its sink and its processes.
type bench struct {
	*Sink
	t       *testing.T
	h       *Harness
	starter lane.Starter
	conn    lane.Conn
	ctx     context.Context
}

// launch makes the bench and what Open gets.
func (h *Harness) launch(t *testing.T, o Opening) (*bench, lane.Launch) {
	t.Helper()
	b := &bench{Sink: NewSink(), t: t, h: h}
	if h.Starter != nil {
		b.starter = h.Starter(t, o)
	} else {
		b.starter = PipeStarter(h.Agent(o))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	b.ctx = ctx
	t.Cleanup(cancel)
	return b, lane.Launch{
		Dir: t.TempDir(), Env: []string{"PATH=/bin"},
		ConnectTimeout: connectTimeout, OpenTimeout: openTimeout,
		Starter: b.starter, Sink: b.Sink, Log: slog.New(slog.DiscardHandler),
	}
}

// plan parses and checks the spec of an opening.
func (h *Harness) plan(t *testing.T, o Opening) lane.Plan {
	t.Helper()
	plan, err := h.Driver.Parse(h.Spec(o))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if err := plan.CheckEnv(); err != nil {
		t.Fatalf("CheckEnv: %v", err)
	}
	if err := plan.Check(agent.Options{}, ""); err != nil {
		t.Fatalf("Check: %v", err)
	}
	return plan
}

// open opens a session; the caller closes it.
func (h *Harness) open(t *testing.T) *bench {
	t.Helper()
	b, launch := h.launch(t, OpenGood)
	conn, err := h.plan(t, OpenGood).Open(b.ctx, launch)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	b.conn = conn
	return b
}

// A result is how a prompt ended.
type result struct {
	outcome agent.Outcome
	err     error
	// events is how many events there were when Prompt returned.
	events int
}

// A running prompt.
type running struct {
	b      *bench
	number uint64
	cancel chan struct{}
	done   chan result
}

// start prompts in a goroutine of its own.
func (b *bench) start(number uint64, text string) *running {
	r := &running{b: b, number: number, cancel: make(chan struct{}), done: make(chan result, 1)}
	go func() {
		out, err := b.conn.Prompt(b.ctx, lane.Turn{Number: number, Text: text, Cancel: r.cancel})
		r.done <- result{outcome: out, err: err, events: len(b.Events())}
	}()
	return r
}

// wait waits for the end of the prompt.
func (r *running) wait() result {
	r.b.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case res := <-r.done:
		return res
	case <-timer.C:
		r.b.t.Fatalf("turn %d has not ended after %v", r.number, patience)
		return result{}
	}
}

// prompt prompts and waits.
func (b *bench) prompt(number uint64, text string) result {
	b.t.Helper()
	return b.start(number, text).wait()
}

// until waits for a condition of the sink.
func (b *bench) until(what string, done func(*Sink) bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if !b.Wait(ctx, done) {
		b.t.Fatalf("waited %v for %s", patience, what)
	}
}

// close closes the session twice, and checks that nothing is left.
func (b *bench) close() {
	b.t.Helper()
	for range 2 {
		if err := b.conn.Close(b.ctx); err != nil {
			b.t.Errorf("Close: %v", err)
		}
	}
	b.gone()
	if n := b.Overlaps(); n > 0 {
		b.t.Errorf("%d events came while another was being emitted", n)
	}
	if n := b.Open(); n > 0 {
		b.t.Errorf("%d questions are open after Close", n)
	}
}

// gone checks that no process runs.
func (b *bench) gone() {
	b.t.Helper()
	if s, ok := b.starter.(*Starter); ok && s.Running() > 0 {
		b.t.Errorf("%d processes run after the end", s.Running())
	}
}
