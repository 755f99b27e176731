package agents

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dragoman/internal/journal"
	"dragoman/internal/lane"
	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// auditLog is the journal's log of decisions; no session has that name.
const auditLog = "audit"

// Options are what a Space works with.
type Options struct {
	// Prepare checks an open (session.Opener).
	Prepare func(session.Request) (*session.Prepared, error)
	// Known reports whether there is an agent of that id; List tells all.
	Known func(id string) bool
	List  func(ctx context.Context) []core.AgentListed
	// Journal keeps the sessions.
	Journal *journal.Journal
	Events  op.Emitter
	// Folder resolves and confines a working folder; "" is the first root.
	Folder func(raw string) (string, error)
	// Documents are the live texts; nil has none.
	Documents Documents
	// Turns is told of turns; nil isn't.
	Turns Turns
	// Log gets what no event says.
	Log *slog.Logger
}

// Documents are the texts that prompts take context from (documents.md rule 7).
type Documents interface {
	// Context gives the live text of a piece of context.
	Context(ctx context.Context, unit op.Unit, c core.AgentContext) (lane.Attachment, error)
	// Unsaved lists the modified documents below a folder.
	Unsaved(cwd string) []string
	// Save saves those documents.
	Save(ctx context.Context, paths []string) error
}

// Turns follows what turns do to files (documents.md rules 3 to 5). Its
// methods are called in the order of the turn.
type Turns interface {
	// Begin is called before the prompt goes out, with the working folder. False:
	// not all contents before the turn are kept.
	Begin(ctx context.Context, run, session, cwd string) (whole bool)
	// ToolCall is called for each event of a tool call.
	ToolCall(run string, call *agent.ToolCall)
	// End returns when what the turn did to documents was announced.
	End(ctx context.Context, run string)
}

// A Space serves the namespace.
type Space struct {
	o     Options
	audit *journal.Log

	mu       sync.Mutex
	sessions map[string]*held
}

// New reads the sessions that the journal knows. They are closed, and what
// they had asked is settled as cancelled.
func New(o Options) (*Space, error) {
	s := &Space{o: o, sessions: map[string]*held{}}
	var err error
	if s.audit, err = o.Journal.Log(auditLog); err != nil {
		return nil, err
	}
	names, err := o.Journal.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == auditLog {
			continue
		}
		if err := s.revive(name); err != nil {
			o.Log.Warn("a session of the journal can't be read", "session", name, "err", err)
		}
	}
	return s, nil
}

// Bind binds the operations.
func (s *Space) Bind(m *op.Mux) {
	core.AgentList.Handle(m, s.list)
	core.AgentOpen.Stream(m, s.open)
	core.AgentSend.Stream(m, s.send)
	core.AgentCancel.Handle(m, s.cancel)
	core.AgentPermit.Handle(m, s.permit)
	core.AgentPending.Handle(m, s.pending)
	core.AgentGet.Handle(m, s.get)
	core.AgentSessions.Handle(m, s.search)
	core.AgentHistory.Handle(m, s.history)
	core.AgentSetOptions.Stream(m, s.setOptions)
	core.AgentRename.Handle(m, s.rename)
	core.AgentClose.Stream(m, s.close)
	core.AgentFork.Stream(m, s.fork)
	core.AgentDelete.Stream(m, s.delete)
	core.AgentAudit.Handle(m, s.audited)
}

// Close ends every session. It may be called twice.
func (s *Space) Close(ctx context.Context) error {
	var err error
	for _, h := range s.all() {
		err = errors.Join(err, h.end(ctx))
	}
	return err
}

// all lists the sessions, the last changed first.
func (s *Space) all() []*held {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*held, 0, len(s.sessions))
	for _, h := range s.sessions {
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b *held) int {
		return cmp.Or(b.changedAt().Compare(a.changedAt()), cmp.Compare(a.id, b.id))
	})
	return list
}

func (s *Space) find(id string) (*held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.sessions[id]; h != nil {
		return h, nil
	}
	return nil, op.NotFound("session", id)
}

// randomID is an id that nobody guesses.
func randomID(prefix string) string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

// now is the time as the wire has it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// wireError turns what the engine fails with into a protocol error.
func wireError(err error) error {
	var failed *agent.Error
	var spec *agent.SpecError
	switch {
	case errors.As(err, &failed):
		if failed.Code == agent.CodeSessionCancelled {
			return op.Cancelled("")
		}
		return op.Fail(op.CodeAgent, "%s", failed.Error()).With("code", failed.Code).With("stage", failed.Stage).
			With("retryable", failed.Retryable).With("uncertainEffect", failed.UncertainEffect)
	case errors.As(err, &spec):
		return op.BadRequest("spec", spec.Detail)
	}
	return err
}
