package claude

import (
	"testing"

	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func TestSuite(t *testing.T) {
	lanetest.Run(t, lanetest.Harness{
		Driver: Driver{},
		Spec: func(o lanetest.Opening) *agent.Spec {
			if o == lanetest.OpenMissing {
				return spec(t, lanetest.MissingProgram, "")
			}
			return spec(t, "claude", "")
		},
		Agent:  func(o lanetest.Opening) lanetest.Program { return (&fake{opening: o}).run },
		Allow:  agent.AllowOnce,
		Reject: agent.RejectOnce,
		Lacks: lanetest.Lacks{
			// Claude Code says nothing before the first prompt but the answer
			// to initialize, which may be late; see TestOpenCrash, TestSilent.
			Handshake: true,
		},
	})
}
