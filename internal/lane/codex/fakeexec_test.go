package codex

import (
	"context"
	"fmt"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
)

// fakeExec is `codex exec --json`, whose prompt is its last argument.
func fakeExec(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
	line := func(format string, args ...any) { fmt.Fprintf(p.Out, format+"\n", args...) }
	said := func(text string) {
		line(`{"type":"item.completed","item":{"id":"i","type":"agent_message","text":%s}}`, quoted(text))
	}
	line(`{"type":"thread.started","thread_id":"thread-1"}`)
	line(`{"type":"turn.started"}`)
	switch text := p.Args[len(p.Args)-1]; text {
	case lanetest.Echo:
		said(lanetest.EchoText)
	case lanetest.Chunks:
		for i := range lanetest.ChunkCount {
			said(fmt.Sprintf("%d ", i))
		}
	case lanetest.Hang:
		said(lanetest.Working)
		select {
		case <-p.Interrupted:
		case <-ctx.Done():
		}
		return lane.ExitStatus{Code: 1}
	case lanetest.Deaf:
		said(lanetest.Working)
		<-ctx.Done()
		return lane.ExitStatus{Code: 1}
	case lanetest.Crash:
		said(lanetest.Partial)
		fmt.Fprintln(p.Err, lanetest.LastWords)
		return lane.ExitStatus{Code: lanetest.CrashCode}
	}
	line(`{"type":"turn.completed","usage":{"input_tokens":120,"output_tokens":30}}`)
	return lane.ExitStatus{}
}
