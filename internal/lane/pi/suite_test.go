package pi

import (
	"testing"

	"go.uber.org/goleak"

	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	for name, old := range map[string]bool{"1.x": false, "before agent_settled": true} {
		t.Run(name, func(t *testing.T) {
			lanetest.Run(t, lanetest.Harness{
				Driver: Driver{},
				Spec: func(o lanetest.Opening) *agent.Spec {
					if o == lanetest.OpenMissing {
						return spec(t, lanetest.MissingProgram, "")
					}
					return spec(t, "pi", "")
				},
				Agent:  func(o lanetest.Opening) lanetest.Program { return (&fake{opening: o, old: old}).run },
				Allow:  agent.AllowOnce,
				Reject: agent.RejectOnce,
			})
		})
	}
}
