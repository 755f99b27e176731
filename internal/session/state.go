package session

// A State is where a session stands (lanes.md §1).
type State int

// The states. Closed is terminal; failed leaves only closing.
const (
	Opening State = iota
	Idle
	Running
	Closing
	Closed
	// Failed: the open failed or the agent is gone. The lane still answers
	// prompts, with its own error.
	Failed
)

var stateNames = [...]string{"opening", "idle", "running", "closing", "closed", "failed"}

// String is the state's word on the wire.
func (s State) String() string { return stateNames[s] }

// An edge is what moves a session from state to state.
type edge int

const (
	opened    edge = iota // the agent is usable
	lost                  // the open failed, or the agent is gone for good
	started               // a turn begins
	settled               // a turn ended and none follows
	closing               // close was asked for
	closed                // nothing of the agent is left
	edgeCount int  = iota
)

// next is the whole table of transitions; a state that an edge doesn't leave
// stays. Closing outlives a failed close, so that close can be asked again.
func (s State) next(e edge) State {
	switch {
	case s == Closed:
		return Closed
	case s == Closing:
		if e == closed {
			return Closed
		}
		return Closing
	case e == closing:
		return Closing
	case s == Failed, e == lost:
		return Failed
	case s == Opening && e == opened, s == Running && e == settled:
		return Idle
	case s == Idle && e == started:
		return Running
	}
	return s
}
