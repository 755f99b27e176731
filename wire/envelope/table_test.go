package envelope_test

import (
	"testing"

	"dragoman/wire/envelope"
)

// cell is what the specification says of one state and signal; it is written
// down here a second time, on purpose in another form than the tables.
type cell struct {
	state  envelope.State
	signal envelope.Signal
	next   envelope.State
	do     envelope.Actions
}

const (
	violation = envelope.Violation
	misuse    = envelope.Misuse
)

var hostCells = []cell{
	// Rule 2, 3 and 9: nothing was requested.
	{envelope.None, envelope.PeerRequest, envelope.None, violation},
	{envelope.None, envelope.PeerRefused, envelope.None, violation},
	{envelope.None, envelope.PeerEvent, envelope.None, violation},
	{envelope.None, envelope.PeerCompleted, envelope.None, violation},
	{envelope.None, envelope.PeerCancelled, envelope.None, violation},
	{envelope.None, envelope.PeerError, envelope.None, violation},
	{envelope.None, envelope.PeerCancel, envelope.None, 0},
	{envelope.None, envelope.OwnRequest, envelope.Running, envelope.Write},
	{envelope.None, envelope.OwnEvent, envelope.None, misuse},
	{envelope.None, envelope.OwnCompleted, envelope.None, misuse},
	{envelope.None, envelope.OwnCancelled, envelope.None, misuse},
	{envelope.None, envelope.OwnError, envelope.None, 0},
	{envelope.None, envelope.OwnCancel, envelope.None, 0},

	{envelope.Running, envelope.PeerRequest, envelope.Running, violation},
	{envelope.Running, envelope.PeerRefused, envelope.Running, violation},
	{envelope.Running, envelope.PeerEvent, envelope.Running, envelope.Deliver},
	{envelope.Running, envelope.PeerCompleted, envelope.Retired, envelope.Settle},
	{envelope.Running, envelope.PeerCancelled, envelope.Retired, envelope.Settle},
	{envelope.Running, envelope.PeerError, envelope.Retired, envelope.Settle},
	{envelope.Running, envelope.PeerCancel, envelope.Cancelling, envelope.ReturnCancel | envelope.StartGrace},
	{envelope.Running, envelope.OwnRequest, envelope.Running, misuse},
	{envelope.Running, envelope.OwnEvent, envelope.Running, misuse},
	{envelope.Running, envelope.OwnCompleted, envelope.Running, misuse},
	{envelope.Running, envelope.OwnCancelled, envelope.Running, misuse},
	{envelope.Running, envelope.OwnError, envelope.Abandoned, envelope.Write | envelope.Settle},
	{envelope.Running, envelope.OwnCancel, envelope.Cancelling, envelope.Write | envelope.StartGrace},

	// Rule 4: a completed that crossed the cancel is no error.
	{envelope.Cancelling, envelope.PeerRequest, envelope.Cancelling, violation},
	{envelope.Cancelling, envelope.PeerRefused, envelope.Cancelling, violation},
	{envelope.Cancelling, envelope.PeerEvent, envelope.Cancelling, envelope.Deliver},
	{envelope.Cancelling, envelope.PeerCompleted, envelope.Retired, envelope.Settle | envelope.CancelLost},
	{envelope.Cancelling, envelope.PeerCancelled, envelope.Retired, envelope.Settle},
	{envelope.Cancelling, envelope.PeerError, envelope.Retired, envelope.Settle},
	{envelope.Cancelling, envelope.PeerCancel, envelope.Cancelling, 0},
	{envelope.Cancelling, envelope.OwnRequest, envelope.Cancelling, misuse},
	{envelope.Cancelling, envelope.OwnEvent, envelope.Cancelling, misuse},
	{envelope.Cancelling, envelope.OwnCompleted, envelope.Cancelling, misuse},
	{envelope.Cancelling, envelope.OwnCancelled, envelope.Cancelling, misuse},
	{envelope.Cancelling, envelope.OwnError, envelope.Abandoned, envelope.Write | envelope.Settle},
	{envelope.Cancelling, envelope.OwnCancel, envelope.Cancelling, 0},

	// Rule 4: the host gave up; what was on its way is dropped.
	{envelope.Abandoned, envelope.PeerRequest, envelope.Abandoned, violation},
	{envelope.Abandoned, envelope.PeerRefused, envelope.Abandoned, violation},
	{envelope.Abandoned, envelope.PeerEvent, envelope.Abandoned, 0},
	{envelope.Abandoned, envelope.PeerCompleted, envelope.Retired, 0},
	{envelope.Abandoned, envelope.PeerCancelled, envelope.Retired, 0},
	{envelope.Abandoned, envelope.PeerError, envelope.Retired, 0},
	{envelope.Abandoned, envelope.PeerCancel, envelope.Abandoned, 0},
	{envelope.Abandoned, envelope.OwnRequest, envelope.Abandoned, misuse},
	{envelope.Abandoned, envelope.OwnEvent, envelope.Abandoned, misuse},
	{envelope.Abandoned, envelope.OwnCompleted, envelope.Abandoned, misuse},
	{envelope.Abandoned, envelope.OwnCancelled, envelope.Abandoned, misuse},
	{envelope.Abandoned, envelope.OwnError, envelope.Abandoned, 0},
	{envelope.Abandoned, envelope.OwnCancel, envelope.Abandoned, 0},

	{envelope.Retired, envelope.PeerRequest, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerRefused, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerEvent, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerCompleted, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerCancelled, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerError, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerCancel, envelope.Retired, 0},
	{envelope.Retired, envelope.OwnRequest, envelope.Retired, misuse},
	{envelope.Retired, envelope.OwnEvent, envelope.Retired, misuse},
	{envelope.Retired, envelope.OwnCompleted, envelope.Retired, misuse},
	{envelope.Retired, envelope.OwnCancelled, envelope.Retired, misuse},
	{envelope.Retired, envelope.OwnError, envelope.Retired, 0},
	{envelope.Retired, envelope.OwnCancel, envelope.Retired, 0},
}

var agentCells = []cell{
	{envelope.None, envelope.PeerRequest, envelope.Running, envelope.Deliver},
	{envelope.None, envelope.PeerRefused, envelope.Retired, envelope.Refuse},
	{envelope.None, envelope.PeerEvent, envelope.None, violation},
	{envelope.None, envelope.PeerCompleted, envelope.None, violation},
	{envelope.None, envelope.PeerCancelled, envelope.None, violation},
	{envelope.None, envelope.PeerError, envelope.None, violation},
	{envelope.None, envelope.PeerCancel, envelope.None, 0},
	{envelope.None, envelope.OwnRequest, envelope.None, misuse},
	{envelope.None, envelope.OwnEvent, envelope.None, misuse},
	{envelope.None, envelope.OwnCompleted, envelope.None, misuse},
	{envelope.None, envelope.OwnCancelled, envelope.None, misuse},
	{envelope.None, envelope.OwnError, envelope.None, misuse},
	{envelope.None, envelope.OwnCancel, envelope.None, misuse},

	{envelope.Running, envelope.PeerRequest, envelope.Running, violation},
	{envelope.Running, envelope.PeerRefused, envelope.Running, violation},
	{envelope.Running, envelope.PeerEvent, envelope.Running, violation},
	{envelope.Running, envelope.PeerCompleted, envelope.Running, violation},
	{envelope.Running, envelope.PeerCancelled, envelope.Running, violation},
	{envelope.Running, envelope.PeerError, envelope.Stopped, envelope.StopWork},
	{envelope.Running, envelope.PeerCancel, envelope.Cancelling, envelope.StopWork},
	{envelope.Running, envelope.OwnRequest, envelope.Running, misuse},
	{envelope.Running, envelope.OwnEvent, envelope.Running, envelope.Write},
	{envelope.Running, envelope.OwnCompleted, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Running, envelope.OwnCancelled, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Running, envelope.OwnError, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Running, envelope.OwnCancel, envelope.Asking, envelope.Write},

	{envelope.Asking, envelope.PeerRequest, envelope.Asking, violation},
	{envelope.Asking, envelope.PeerRefused, envelope.Asking, violation},
	{envelope.Asking, envelope.PeerEvent, envelope.Asking, violation},
	{envelope.Asking, envelope.PeerCompleted, envelope.Asking, violation},
	{envelope.Asking, envelope.PeerCancelled, envelope.Asking, violation},
	{envelope.Asking, envelope.PeerError, envelope.Stopped, envelope.StopWork},
	{envelope.Asking, envelope.PeerCancel, envelope.Cancelling, envelope.StopWork},
	{envelope.Asking, envelope.OwnRequest, envelope.Asking, misuse},
	{envelope.Asking, envelope.OwnEvent, envelope.Asking, envelope.Write},
	{envelope.Asking, envelope.OwnCompleted, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Asking, envelope.OwnCancelled, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Asking, envelope.OwnError, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Asking, envelope.OwnCancel, envelope.Asking, 0},

	{envelope.Cancelling, envelope.PeerRequest, envelope.Cancelling, violation},
	{envelope.Cancelling, envelope.PeerRefused, envelope.Cancelling, violation},
	{envelope.Cancelling, envelope.PeerEvent, envelope.Cancelling, violation},
	{envelope.Cancelling, envelope.PeerCompleted, envelope.Cancelling, violation},
	{envelope.Cancelling, envelope.PeerCancelled, envelope.Cancelling, violation},
	{envelope.Cancelling, envelope.PeerError, envelope.Stopped, envelope.StopWork},
	{envelope.Cancelling, envelope.PeerCancel, envelope.Cancelling, 0},
	{envelope.Cancelling, envelope.OwnRequest, envelope.Cancelling, misuse},
	{envelope.Cancelling, envelope.OwnEvent, envelope.Cancelling, envelope.Write},
	{envelope.Cancelling, envelope.OwnCompleted, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Cancelling, envelope.OwnCancelled, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Cancelling, envelope.OwnError, envelope.Retired, envelope.Write | envelope.Settle},
	{envelope.Cancelling, envelope.OwnCancel, envelope.Cancelling, 0},

	// Rule 4: the host gave up, so the agent sends nothing more.
	{envelope.Stopped, envelope.PeerRequest, envelope.Stopped, violation},
	{envelope.Stopped, envelope.PeerRefused, envelope.Stopped, violation},
	{envelope.Stopped, envelope.PeerEvent, envelope.Stopped, violation},
	{envelope.Stopped, envelope.PeerCompleted, envelope.Stopped, violation},
	{envelope.Stopped, envelope.PeerCancelled, envelope.Stopped, violation},
	{envelope.Stopped, envelope.PeerError, envelope.Stopped, 0},
	{envelope.Stopped, envelope.PeerCancel, envelope.Stopped, 0},
	{envelope.Stopped, envelope.OwnRequest, envelope.Stopped, misuse},
	{envelope.Stopped, envelope.OwnEvent, envelope.Stopped, 0},
	{envelope.Stopped, envelope.OwnCompleted, envelope.Retired, envelope.Settle},
	{envelope.Stopped, envelope.OwnCancelled, envelope.Retired, envelope.Settle},
	{envelope.Stopped, envelope.OwnError, envelope.Retired, envelope.Settle},
	{envelope.Stopped, envelope.OwnCancel, envelope.Stopped, 0},

	{envelope.Retired, envelope.PeerRequest, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerRefused, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerEvent, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerCompleted, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerCancelled, envelope.Retired, violation},
	{envelope.Retired, envelope.PeerError, envelope.Retired, 0},
	{envelope.Retired, envelope.PeerCancel, envelope.Retired, 0},
	{envelope.Retired, envelope.OwnRequest, envelope.Retired, misuse},
	{envelope.Retired, envelope.OwnEvent, envelope.Retired, 0},
	{envelope.Retired, envelope.OwnCompleted, envelope.Retired, 0},
	{envelope.Retired, envelope.OwnCancelled, envelope.Retired, 0},
	{envelope.Retired, envelope.OwnError, envelope.Retired, 0},
	{envelope.Retired, envelope.OwnCancel, envelope.Retired, 0},
}

func TestTransitions(t *testing.T) {
	for _, side := range []struct {
		name  string
		side  envelope.Side
		cells []cell
	}{{"host", envelope.HostSide, hostCells}, {"agent", envelope.AgentSide, agentCells}} {
		seen := make(map[[2]int]bool)
		for _, c := range side.cells {
			seen[[2]int{int(c.state), int(c.signal)}] = true
			got := side.side.Step(c.state, c.signal)
			if want := (envelope.Transition{Next: c.next, Do: c.do}); got != want {
				t.Errorf("%s: %s × %s: got %+v, want %+v", side.name, c.state, c.signal, got, want)
			}
		}
		for _, state := range side.side.States() {
			for signal := envelope.PeerRequest; signal <= envelope.OwnCancel; signal++ {
				if !seen[[2]int{int(state), int(signal)}] {
					t.Errorf("%s: no test for %s × %s", side.name, state, signal)
				}
			}
		}
	}
}
