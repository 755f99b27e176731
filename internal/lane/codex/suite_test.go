package codex

import (
	"testing"

	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func TestSuite(t *testing.T) {
	lanetest.Run(t, lanetest.Harness{
		Driver: New("1"),
		Spec: func(o lanetest.Opening) *agent.Spec {
			if o == lanetest.OpenMissing {
				return spec(t, lanetest.MissingProgram, "")
			}
			return spec(t, "codex", "")
		},
		Agent:  func(o lanetest.Opening) lanetest.Program { return (&fake{opening: o}).run },
		Allow:  accept,
		Reject: decline,
	})
}

func TestSuiteExec(t *testing.T) {
	lanetest.Run(t, lanetest.Harness{
		Driver: New("1"),
		Spec: func(o lanetest.Opening) *agent.Spec {
			program := "codex"
			if o == lanetest.OpenMissing {
				program = lanetest.MissingProgram
			}
			return spec(t, program, `,"mode":"exec"`)
		},
		Agent: func(lanetest.Opening) lanetest.Program { return fakeExec },
		Lacks: lanetest.Lacks{
			Questions:       true, // exec never asks
			Handshake:       true, // nothing runs before the first prompt
			CancelClock:     true, // a process that ignores SIGINT is ended
			ReusableProcess: true,
		},
	})
}
