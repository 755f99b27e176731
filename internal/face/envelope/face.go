package envelope

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/client"
	"dragoman/envelope/agent"
	"dragoman/wire/core"
	"dragoman/wire/envelope"
)

// partingWait bounds what is done when a request or the connection is over:
// the end of a run that was cancelled, the close of a session.
const partingWait = 10 * time.Second

// A Core answers calls; [client.Client] is one.
type Core interface {
	// Raw calls an operation with params as JSON and returns the result as
	// JSON. An error response is an *op.Error.
	Raw(ctx context.Context, name string, params []byte) ([]byte, error)
	// Done is closed when the core is gone for good.
	Done() <-chan struct{}
}

// A Peer says what the host is to the core.
type Peer uint8

// The peers.
const (
	// Stranger: any host.
	Stranger Peer = iota
	// Descendant: the core started it; it answers no questions.
	Descendant
)

// Config says what the face offers.
type Config struct {
	// Grants are operations that are offered beside those that only read, in
	// either spelling.
	Grants []string
	// Agent is the one that agent.prompt opens where the host names none; ""
	// is the first that is installed.
	Agent string
	Peer  Peer
	// Version of ours, for the hello.
	Version string
}

// A Face is one connection with a host.
type Face struct {
	config Config
	core   Core
	runs   runs
	chat   conversation
}

// New returns a face. Its Event is to be called with every event of the core,
// in order, from before Serve on.
func New(c Config) *Face {
	f := &Face{config: c, runs: runs{byID: make(map[string]*stream), watchers: make(map[*stream][]string)}}
	f.chat = conversation{face: f, turn: make(chan struct{}, 1), questions: make(map[string]bool)}
	return f
}

// Event takes one event of the core.
func (f *Face) Event(e client.Event) { f.runs.take(e) }

// Serve is one session with a host, as [agent.Agent.Serve]. What the host
// started is cancelled at its end, and the conversation's session closed.
func (f *Face) Serve(ctx context.Context, c Core, r io.Reader, w io.Writer) error {
	f.core = c
	raw, err := c.Raw(ctx, opDescribe, []byte("{}"))
	if err != nil {
		return fmt.Errorf("ask the core for its operations: %w", err)
	}
	var described core.SessionDescribeResult
	if err := json.Unmarshal(raw, &described); err != nil {
		return fmt.Errorf("the core's operations: %w", err)
	}
	a := agent.New(agent.Config{Implementation: "dragoman " + f.config.Version})
	for _, d := range offered(described.Ops, f.config.Grants) {
		if d.Streaming {
			a.Handle(kebab(d.Op), f.streaming(d.Op))
			continue
		}
		a.Handle(kebab(d.Op), f.calling(d.Op))
	}
	a.Handle(capEvents, f.events)
	a.Handle(capPrompt, f.chat.prompt)
	if f.config.Peer != Descendant {
		a.Handle(capPermit, f.chat.permit)
	}
	err = a.Serve(ctx, r, w)
	return errors.Join(err, f.chat.close(ctx))
}

// calling serves an operation that answers at once.
func (f *Face) calling(name string) agent.Handler {
	return func(ctx context.Context, r *agent.Request) ([]byte, error) {
		result, err := f.core.Raw(ctx, name, paged(name, r.Input))
		return result, failure(err)
	}
}

// streaming serves an operation that is a run: each of its events is one of
// the request.
func (f *Face) streaming(name string) agent.Handler {
	return func(ctx context.Context, r *agent.Request) ([]byte, error) {
		return f.run(ctx, name, paged(name, r.Input), func(e client.Event) error { return send(r, kebab(e.Name), e.Params) })
	}
}

// run runs a streaming operation to its end and returns its result. A ctx
// that ends cancels the run, whose end is waited for all the same.
func (f *Face) run(ctx context.Context, name string, params []byte, emit func(client.Event) error) ([]byte, error) {
	f.runs.begin()
	raw, err := f.core.Raw(ctx, name, params)
	run := runOf(raw)
	s := f.runs.claim(run)
	defer f.runs.drop(run, s)
	switch {
	case err != nil:
		return nil, failure(err)
	case run == "":
		return raw, nil // answered at once
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, parted := make(chan struct{}), make(chan struct{})
	defer func() { close(ended); <-parted }()
	go func() {
		defer close(parted)
		select {
		case <-ctx.Done():
			f.cancelRun(ctx, run)
		case <-ended:
		}
	}()
	return f.follow(ctx, cancel, s, emit)
}

// follow reads a run's events until its end. What emit can't send cancels
// the run and is the request's error.
func (f *Face) follow(ctx context.Context, cancel func(), s *stream, emit func(client.Event) error) ([]byte, error) {
	var lost error
	wait, stop := partingContext(ctx)
	defer stop()
	for {
		e, err := s.next(wait, f.core)
		switch {
		case err != nil:
			return nil, errors.Join(lost, err)
		case e.Name == core.RunEnded.Name:
			result, err := ending(ctx, e.Params)
			if lost != nil {
				return nil, lost
			}
			return result, err
		case lost != nil:
			continue
		}
		if err := emit(e); err != nil && !errors.Is(err, agent.ErrOver) && ctx.Err() == nil {
			lost = err
			cancel()
		}
	}
}

// partingContext ends a while after ctx does.
func partingContext(ctx context.Context) (context.Context, context.CancelFunc) {
	wait, stop := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(partingWait, stop) })
	return wait, func() {
		unhook()
		stop()
	}
}

// ending is what run.ended says.
func ending(ctx context.Context, params []byte) ([]byte, error) {
	var end struct {
		OK     bool           `json:"ok"`
		Result jsontext.Value `json:"result"`
		Error  jsontext.Value `json:"error"`
	}
	if err := json.Unmarshal(params, &end); err != nil {
		return nil, err
	}
	if !end.OK {
		return nil, failure(readError(end.Error))
	}
	var turn struct {
		StopReason string `json:"stopReason"`
	}
	// Results of other operations have no stop reason.
	if json.Unmarshal(end.Result, &turn) == nil && turn.StopReason == "cancelled" && ctx.Err() != nil {
		return nil, agent.ErrCancelled
	}
	return end.Result, nil
}

func (f *Face) cancelRun(ctx context.Context, run string) {
	ctx, stop := detached(ctx)
	defer stop()
	// A run that has ended meanwhile says so itself.
	_, _ = f.core.Raw(ctx, opCancel, fmt.Appendf(nil, `{"run":%q}`, run))
}

// events streams the core's events until it is cancelled.
func (f *Face) events(ctx context.Context, r *agent.Request) ([]byte, error) {
	var input struct {
		Patterns []string `json:"patterns"`
	}
	if err := json.Unmarshal(r.Input, &input); err != nil || len(input.Patterns) == 0 {
		return nil, badRequest("patterns must be a list of names, prefix.* or *")
	}
	s := f.runs.watch(input.Patterns)
	defer f.runs.drop("", s)
	for {
		e, err := s.next(ctx, f.core)
		if err != nil {
			return nil, err
		}
		if name := kebab(e.Name); name != envelope.EventCompleted && name != envelope.EventCancelled {
			if err := send(r, name, e.Params); err != nil {
				return nil, err
			}
		}
	}
}
