package envelope

// A State is where one request stands, on one side of a connection.
type State uint8

// The states of a request. Those of the host's side are None, Running,
// Cancelling, Abandoned and Retired; the agent's has Asking and Stopped too
// and no Abandoned.
const (
	// None: the id was never requested, or so long ago that it is forgotten.
	None State = iota
	// Running: requested and not ended.
	Running
	// Asking: the agent asked the host to cancel (agent's side).
	Asking
	// Cancelling: the host's cancel is on its way or has arrived.
	Cancelling
	// Abandoned: the host gave up; what was on its way is dropped (host's side).
	Abandoned
	// Stopped: the host gave up; the agent sends nothing more (agent's side).
	Stopped
	// Retired: ended, and the id may not be used again.
	Retired
	stateCount
)

var stateNames = [stateCount]string{"none", "running", "asking", "cancelling", "abandoned", "stopped", "retired"}

// String is the state's name.
func (s State) String() string { return stateNames[s] }

// A Signal is what can happen to a request on one side: an envelope from the
// peer, or one of our own that is about to be sent.
type Signal uint8

// The signals. Peer… came from the other side, Own… is ours.
const (
	PeerRequest Signal = iota
	PeerRefused        // a request that this side won't run: unsupported, or too many at once
	PeerEvent          // an event that doesn't end its request
	PeerCompleted
	PeerCancelled
	PeerError
	PeerCancel
	OwnRequest
	OwnEvent // an event that doesn't end its request
	OwnCompleted
	OwnCancelled
	OwnError
	OwnCancel
	signalCount
)

var signalNames = [signalCount]string{
	"peer request", "peer request refused", "peer event", "peer completed", "peer cancelled", "peer error", "peer cancel",
	"own request", "own event", "own completed", "own cancelled", "own error", "own cancel",
}

// String is the signal's name.
func (s Signal) String() string { return signalNames[s] }

// Actions are what a side must do, a set. The empty set says: drop it.
type Actions uint16

// The actions.
const (
	// Write the own envelope.
	Write Actions = 1 << iota
	// Deliver the peer's event, or start the peer's request.
	Deliver
	// Settle the request: it has ended.
	Settle
	// CancelLost goes with Settle: the request completed although it had been
	// cancelled.
	CancelLost
	// ReturnCancel: write the host's own cancel, without asking
	// [Session.Send] again.
	ReturnCancel
	// StartGrace: from now on the agent has the grace to acknowledge.
	StartGrace
	// StopWork: cancel the request's handler.
	StopWork
	// Refuse the peer's request: write an error for it ([Session.Refusal]),
	// without asking [Session.Send].
	Refuse
	// FailAll: the connection is at its end and everything pending fails.
	FailAll
	// Violation: the peer's envelope is a protocol error.
	Violation
	// Misuse: the own envelope breaks the protocol and isn't sent.
	Misuse
	actionEnd
)

// Has reports whether all of b are in a.
func (a Actions) Has(b Actions) bool { return a&b == b }

// A Transition is one cell of a side's table.
type Transition struct {
	Next State
	Do   Actions
}

// A Side is one end of a connection.
type Side uint8

// The sides.
const (
	HostSide Side = iota
	AgentSide
)

// Step is the state machine of one request: what side does when signal
// happens in state (envelope.md, session rules 2 to 4 and 9).
func (s Side) Step(state State, signal Signal) Transition {
	if s == HostSide {
		return hostTable[state][signal]
	}
	return agentTable[state][signal]
}

// States are the states that a request can be in on this side.
func (s Side) States() []State {
	if s == HostSide {
		return []State{None, Running, Cancelling, Abandoned, Retired}
	}
	return []State{None, Running, Asking, Cancelling, Stopped, Retired}
}

type transitions = [signalCount]Transition

// stay is a row in which the peer may send nothing and we neither, from
// which the tables' rows are made.
func stay(s State) (row transitions) {
	for i := range row {
		row[i] = Transition{s, Violation}
		if Signal(i) >= OwnRequest {
			row[i].Do = Misuse
		}
	}
	return row
}

type cells map[Signal]Transition

func with(s State, c cells) transitions {
	row := stay(s)
	for signal, t := range c {
		row[signal] = t
	}
	return row
}

// hostTable: a host requests, cancels and gives up; it never gets a request
// and never sends an event.
var hostTable = [stateCount]transitions{
	None: with(None, cells{
		PeerCancel: {None, 0},
		OwnRequest: {Running, Write},
		OwnError:   {None, 0},
		OwnCancel:  {None, 0},
	}),
	Running: with(Running, cells{
		PeerEvent:     {Running, Deliver},
		PeerCompleted: {Retired, Settle},
		PeerCancelled: {Retired, Settle},
		PeerError:     {Retired, Settle},
		PeerCancel:    {Cancelling, ReturnCancel | StartGrace},
		OwnError:      {Abandoned, Write | Settle},
		OwnCancel:     {Cancelling, Write | StartGrace},
	}),
	Cancelling: with(Cancelling, cells{
		PeerEvent:     {Cancelling, Deliver},
		PeerCompleted: {Retired, Settle | CancelLost},
		PeerCancelled: {Retired, Settle},
		PeerError:     {Retired, Settle},
		PeerCancel:    {Cancelling, 0},
		OwnError:      {Abandoned, Write | Settle},
		OwnCancel:     {Cancelling, 0},
	}),
	Abandoned: with(Abandoned, cells{
		PeerEvent:     {Abandoned, 0},
		PeerCompleted: {Retired, 0},
		PeerCancelled: {Retired, 0},
		PeerError:     {Retired, 0},
		PeerCancel:    {Abandoned, 0},
		OwnError:      {Abandoned, 0},
		OwnCancel:     {Abandoned, 0},
	}),
	Retired: with(Retired, cells{
		PeerCancel: {Retired, 0},
		OwnError:   {Retired, 0},
		OwnCancel:  {Retired, 0},
	}),
}

// agentTable: an agent runs requests and ends each once; it never requests.
// What its handler says after the end, or after the host gave up, is dropped.
var agentTable = [stateCount]transitions{
	None: with(None, cells{
		PeerRequest: {Running, Deliver},
		PeerRefused: {Retired, Refuse},
		PeerCancel:  {None, 0},
	}),
	Running:    working(Running, Transition{Asking, Write}),
	Asking:     working(Asking, Transition{Asking, 0}),
	Cancelling: working(Cancelling, Transition{Cancelling, 0}),
	Stopped: with(Stopped, cells{
		PeerError:    {Stopped, 0},
		PeerCancel:   {Stopped, 0},
		OwnEvent:     {Stopped, 0},
		OwnCompleted: {Retired, Settle},
		OwnCancelled: {Retired, Settle},
		OwnError:     {Retired, Settle},
		OwnCancel:    {Stopped, 0},
	}),
	// The host's error crossed the end here: neither side is at fault.
	Retired: with(Retired, cells{
		PeerError:    {Retired, 0},
		PeerCancel:   {Retired, 0},
		OwnEvent:     {Retired, 0},
		OwnCompleted: {Retired, 0},
		OwnCancelled: {Retired, 0},
		OwnError:     {Retired, 0},
		OwnCancel:    {Retired, 0},
	}),
}

// working is the row of a state in which the agent's handler runs.
func working(s State, ownCancel Transition) transitions {
	cancel := Transition{Cancelling, StopWork}
	if s == Cancelling {
		cancel.Do = 0
	}
	return with(s, cells{
		PeerError:    {Stopped, StopWork},
		PeerCancel:   cancel,
		OwnEvent:     {s, Write},
		OwnCompleted: {Retired, Write | Settle},
		OwnCancelled: {Retired, Write | Settle},
		OwnError:     {Retired, Write | Settle},
		OwnCancel:    ownCancel,
	})
}
