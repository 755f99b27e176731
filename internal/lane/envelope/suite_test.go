package envelope

import (
	"testing"

	"dragoman/internal/lane/lanetest"
)

func TestSuite(t *testing.T) {
	lanetest.Run(t, lanetest.Harness{
		Driver: Driver{Version: "1"},
		Spec:   testSpec,
		Agent:  func(o lanetest.Opening) lanetest.Program { return (&fake{opening: o}).run },
		Allow:  "yes",
		Reject: "no",
		Lacks: lanetest.Lacks{
			// The protocol's own ladder: who doesn't acknowledge within the
			// grace is ended (lanes.md §10).
			CancelClock: true,
		},
	})
}
