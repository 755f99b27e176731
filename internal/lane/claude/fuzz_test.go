package claude

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// FuzzOutput feeds the lane with what a program might print: whatever it is,
// the turn ends, as a result or as the end of the process, and the text is
// what the events say.
func FuzzOutput(f *testing.F) {
	for _, turns := range recordings(f) {
		for _, lines := range turns {
			f.Add(strings.Join(lines, "\n"))
		}
	}
	f.Add("no json\n{}\n[]\n\xff\n")
	f.Add(`{"type":"result"}`)
	f.Add(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Edit","input":[]}]}}`)
	f.Fuzz(func(t *testing.T, output string) {
		program := func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
			go func() { _, _ = io.Copy(io.Discard, p.In) }()
			_, _ = io.WriteString(p.Out, output)
			return lane.ExitStatus{Code: 1}
		}
		sink := lanetest.NewSink()
		sink.AnswerWith(choose(agent.AllowOnce, ""))
		starter := lanetest.PipeStarter(program)
		p, err := starter.Start(context.Background(), lane.Command{})
		if err != nil {
			t.Fatal(err)
		}
		plan := &plan{spec: &agent.Spec{}}
		c := newConn(plan, lane.Launch{Sink: sink}, p, serverConfig{})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err = c.Prompt(ctx, lane.Turn{Number: 1, Text: "go"})
		if ctx.Err() != nil {
			t.Error("the turn never ended", err)
		}
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
		if sink.Overlaps() > 0 || sink.Open() > 0 {
			t.Error("overlaps or open questions")
		}
	})
}
