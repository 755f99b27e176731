package envelope

import "fmt"

// A MisuseError says that an own envelope would break the protocol, so that
// it isn't sent.
type MisuseError struct{ Detail string }

// Error is the detail.
func (e *MisuseError) Error() string { return e.Detail }

// A Session is one side's view of a connection: which envelopes may come,
// what they mean after those before, and which may be sent. It judges and
// remembers; the caller does what the [Actions] say. It isn't safe for
// concurrent use.
type Session struct {
	side       Side
	limits     Limits
	own        map[string]bool
	negotiated map[string]bool // nil before the peer's hello
	peer       *Envelope       // the peer's hello
	running    map[string]State
	// abandoned are requests that the host gave up: a well-behaved agent says
	// nothing more about them, so that they don't count as running.
	abandoned ring
	retired   ring
	seen      ring
	over      bool
}

// NewSession returns the session of side, which offers these capabilities in
// its hello.
func NewSession(side Side, capabilities []string, l Limits) *Session {
	s := &Session{
		side:      side,
		limits:    l.Resolve(),
		own:       make(map[string]bool, len(capabilities)),
		running:   make(map[string]State),
		abandoned: newRing(Window),
		retired:   newRing(Window),
		seen:      newRing(Window),
	}
	for _, c := range capabilities {
		s.own[c] = true
	}
	return s
}

// Peer is the peer's hello, nil until it came.
func (s *Session) Peer() *Envelope { return s.peer }

// Has reports whether a capability is negotiated: in both hellos.
func (s *Session) Has(capability string) bool { return s.negotiated[capability] }

// InFlight is how many requests run.
func (s *Session) InFlight() int { return len(s.running) }

// State is where a request stands.
func (s *Session) State(requestID string) State {
	if state, ok := s.running[requestID]; ok {
		return state
	}
	switch {
	case s.retired.has(requestID):
		return Retired
	case s.abandoned.has(requestID):
		return Abandoned
	}
	return None
}

// Receive takes the peer's next envelope and says what to do. The error is
// the protocol error that goes with [Violation]: a repeated messageId, or an
// envelope that may not come now; then the session is as it was before.
func (s *Session) Receive(e *Envelope) (Actions, *Error) {
	if s.seen.has(e.MessageID) {
		return Violation, &Error{DuplicateMessageID, e.at[fieldMessageID], "messageId came before"}
	}
	do, err := s.receive(e)
	if err == nil {
		s.seen.add(e.MessageID)
	}
	return do, err
}

func (s *Session) receive(e *Envelope) (Actions, *Error) {
	switch {
	case e.Kind == Hello && s.peer != nil:
		return Violation, unexpected(e, fieldKind, "a second hello")
	case e.Kind == Hello:
		s.greet(e)
		return 0, nil
	case s.peer == nil:
		return Violation, unexpected(e, fieldKind, e.Kind.String()+" before hello")
	case e.Kind == ErrorKind && e.RequestID == "":
		s.over = true
		return FailAll, nil
	}
	t := s.step(e.RequestID, s.peerSignal(e))
	if t.Do.Has(Violation) {
		why := fmt.Sprintf("%s for a request that is %s", e.Kind, s.State(e.RequestID))
		return Violation, unexpected(e, fieldRequestID, why)
	}
	return t.Do, nil
}

func unexpected(e *Envelope, f field, detail string) *Error {
	return &Error{UnexpectedMessage, e.at[f], detail}
}

func (s *Session) greet(e *Envelope) {
	s.peer = e
	s.negotiated = make(map[string]bool)
	for _, c := range e.Capabilities {
		if s.own[c] {
			s.negotiated[c] = true
		}
	}
}

func (s *Session) peerSignal(e *Envelope) Signal {
	switch e.Kind {
	case Request:
		if !s.negotiated[e.Operation] || len(s.running) >= s.limits.InFlight {
			return PeerRefused
		}
		return PeerRequest
	case Event:
		return endSignal(e, PeerEvent, PeerCompleted, PeerCancelled)
	case Cancel:
		return PeerCancel
	}
	return PeerError
}

func endSignal(e *Envelope, other, completed, cancelled Signal) Signal {
	switch e.Event {
	case EventCompleted:
		return completed
	case EventCancelled:
		return cancelled
	}
	return other
}

// Refusal is the code and message for a request that got [Refuse]: the
// operation isn't negotiated, or too many run.
func (s *Session) Refusal(operation string) (code, message string) {
	if !s.negotiated[operation] {
		return UnsupportedOperation, "operation " + operation + " is not negotiated"
	}
	return Busy, fmt.Sprintf("%d requests are running, the most at once", s.limits.InFlight)
}

// Send takes an own envelope that is about to be sent and says what to do:
// without [Write] it is dropped. The error is a [*MisuseError]. A hello, and
// an error that concerns the connection, are always written.
func (s *Session) Send(e *Envelope) (Actions, error) {
	if e.Kind == Hello || e.Kind == ErrorKind && e.RequestID == "" {
		return Write, nil
	}
	signal := OwnError
	switch e.Kind {
	case Request:
		if err := s.mayRequest(e); err != nil {
			return Misuse, err
		}
		signal = OwnRequest
	case Event:
		signal = endSignal(e, OwnEvent, OwnCompleted, OwnCancelled)
	case Cancel:
		signal = OwnCancel
	}
	t := s.step(e.RequestID, signal)
	if t.Do.Has(Misuse) {
		return Misuse, &MisuseError{fmt.Sprintf("%s for a request that is %s", signal, s.State(e.RequestID))}
	}
	return t.Do, nil
}

func (s *Session) mayRequest(e *Envelope) error {
	switch {
	case s.over:
		return &MisuseError{"the connection is at its end"}
	case !s.negotiated[e.Operation]:
		return &MisuseError{"operation " + e.Operation + " is not negotiated"}
	case len(s.running) >= s.limits.InFlight:
		return &MisuseError{fmt.Sprintf("%d requests are running, the most at once", s.limits.InFlight)}
	}
	return nil
}

func (s *Session) step(id string, signal Signal) Transition {
	t := s.side.Step(s.State(id), signal)
	switch {
	case t.Do.Has(Violation) || t.Do.Has(Misuse):
	case t.Next == None:
	case t.Next == Retired:
		delete(s.running, id)
		s.retired.add(id)
	case t.Next == Abandoned:
		delete(s.running, id)
		s.abandoned.add(id)
	default:
		s.running[id] = t.Next
	}
	return t
}
