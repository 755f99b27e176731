package rpc

import (
	"context"
	"fmt"
	"testing"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func TestSuite(t *testing.T) {
	lanetest.Run(t, lanetest.Harness{
		Driver: Driver{},
		Spec: func(o lanetest.Opening) *agent.Spec {
			m := declared(nil)
			if o == lanetest.OpenMissing {
				m["command"] = obj{"program": lanetest.MissingProgram}
			}
			return specOf(t, m)
		},
		Agent: func(o lanetest.Opening) lanetest.Program {
			switch o {
			case lanetest.OpenCrash:
				return func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
					fmt.Fprintln(p.Err, lanetest.LastWords)
					return lane.ExitStatus{Code: lanetest.CrashCode}
				}
			case lanetest.OpenSilent:
				return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
					<-ctx.Done()
					return lane.ExitStatus{}
				}
			}
			n := 0
			return scripted(func(w *wire, m got) bool { return suiteAgent(w, m, &n) })
		},
		Lacks:               lanetest.Lacks{Questions: true}, // a declared call can't ask
		CrashCodes:          []string{agent.CodeTransportFailed},
		ClosedTurnIsOutcome: true,
	})
}

// suiteAgent does what the suite's words say. n counts its turns.
func suiteAgent(w *wire, m got, n *int) bool {
	done := func(status string) { w.say(`{"method":"done","params":{"turn":{"id":"t%d","status":%q}}}`, *n, status) }
	delta := func(text string) { w.say(`{"method":"delta","params":{"text":%q}}`, text) }
	switch m.Method {
	case "prompt":
		*n++
		w.reply(m, fmt.Sprintf(`{"turn":{"id":"t%d"}}`, *n))
		switch m.text() {
		case lanetest.Chunks:
			for i := range lanetest.ChunkCount {
				delta(fmt.Sprintf("%d ", i))
			}
		case lanetest.Hang:
			delta(lanetest.Working)
			return true
		case lanetest.Deaf:
			delta(lanetest.Working)
			*n += 1000 // its cancel names another turn
			return true
		case lanetest.Crash:
			delta(lanetest.Partial)
			fmt.Fprintln(w.Err, lanetest.LastWords)
			return false
		default:
			delta("echo: " + m.text())
		}
		done(agent.StopEndTurn)
	case "cancel":
		if m.Params["turn"] == fmt.Sprintf("t%d", *n) {
			done(agent.StopCancelled)
		}
	}
	return true
}
