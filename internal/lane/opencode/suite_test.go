package opencode

import (
	"testing"

	"go.uber.org/goleak"

	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func spec(t testing.TB, program, more string) *agent.Spec {
	t.Helper()
	s, err := agent.ParseSpec([]byte(`{"id":"fake","lane":"opencode","command":{"program":` + quote(program) + `,"args":["own"]}` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuite(t *testing.T) {
	lanetest.Run(t, lanetest.Harness{
		Driver: Driver{},
		Spec: func(o lanetest.Opening) *agent.Spec {
			if o == lanetest.OpenMissing {
				return spec(t, lanetest.MissingProgram, "")
			}
			return spec(t, "opencode", "")
		},
		Agent: func(o lanetest.Opening) lanetest.Program {
			f := newFake()
			f.opening = o
			return f.run
		},
		Allow:    replyOnce,
		Reject:   replyReject,
		RealTime: true, // it speaks HTTP
		// The clocks are those of package native, which the suite of package pi
		// tests in a bubble.
		Lacks: lanetest.Lacks{LongClocks: true},
	})
}
