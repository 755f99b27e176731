package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func TestSuite(t *testing.T) {
	lanetest.Run(t, lanetest.Harness{
		Driver: Driver{},
		Spec: func(o lanetest.Opening) *agent.Spec {
			if o == lanetest.OpenMissing {
				return specOf(t, lanetest.MissingProgram, nil, nil)
			}
			return specOf(t, "agent", nil, nil)
		},
		Agent:               func(lanetest.Opening) lanetest.Program { return fakeAgent },
		ClosedTurnIsOutcome: true,
		Lacks: lanetest.Lacks{
			Questions: true, // a declared program can't ask
			Handshake: true, // nothing runs at open
			// SIGINT and the ladder end the process, whatever it does.
			CancelClock: true,
			CrashError:  true, // an exit status is a result
			// One process a turn; the next one is a new process.
			ReusableProcess: true,
		},
	})
}

// fakeAgent reads its prompt from stdin and answers it.
func fakeAgent(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
	text, _ := io.ReadAll(p.In)
	prompt := strings.TrimSuffix(string(text), "\n")
	switch prompt {
	case lanetest.Chunks:
		w := bufio.NewWriterSize(p.Out, 7) // cuts anywhere
		for i := range lanetest.ChunkCount {
			fmt.Fprintf(w, "%d ", i)
		}
		w.Flush()
	case lanetest.Hang:
		io.WriteString(p.Out, lanetest.Working)
		select {
		case <-p.Interrupted:
			return lane.ExitStatus{Code: -1, Signal: "SIGINT"}
		case <-ctx.Done():
		}
	case lanetest.Deaf:
		io.WriteString(p.Out, lanetest.Working)
		<-ctx.Done()
	case lanetest.Crash:
		io.WriteString(p.Out, lanetest.Partial)
		fmt.Fprintln(p.Err, lanetest.LastWords)
		return lane.ExitStatus{Code: lanetest.CrashCode}
	default:
		io.WriteString(p.Out, "echo: "+prompt)
	}
	return lane.ExitStatus{}
}
