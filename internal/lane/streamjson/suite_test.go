package streamjson

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/go-json-experiment/json"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func spec(t testing.TB, program, dialect string) *agent.Spec {
	t.Helper()
	s, err := agent.ParseSpec([]byte(`{"id":"fake","lane":"stream-json","dialect":"` + dialect + `","command":{"program":` + quote(program) + `,"args":["own"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// voices are how a fake of each dialect speaks.
var voices = map[string]struct{ hello, text, result string }{
	"gemini": {
		`{"type":"init","session_id":"g1","model":"m"}`,
		`{"type":"message","role":"assistant","content":%s,"delta":true}`,
		`{"type":"result","status":"success","stats":{"total_tokens":7,"input_tokens":3,"output_tokens":4,"cached":1}}`,
	},
	"qwen": {
		`{"type":"system","subtype":"init","session_id":"q1","qwen_code_version":"0.24.4"}`,
		`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":%s}}}`,
		`{"type":"result","subtype":"success","session_id":"q1","is_error":false,"result":"","usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}`,
	},
}

// fake does what the words of lanetest ask, in a dialect.
func fake(dialect string) lanetest.Program {
	v := voices[dialect]
	return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		text, _ := io.ReadAll(p.In)
		say := func(s string) { fmt.Fprintf(p.Out, v.text+"\n", quote(s)) }
		fmt.Fprintln(p.Out, v.hello)
		switch string(text) {
		case lanetest.Chunks:
			for i := range lanetest.ChunkCount {
				say(fmt.Sprintf("%d ", i))
			}
		case lanetest.Hang:
			say(lanetest.Working)
			select {
			case <-p.Interrupted:
				return lane.ExitStatus{Code: 130}
			case <-ctx.Done():
			}
		case lanetest.Deaf:
			say(lanetest.Working)
			<-ctx.Done()
		case lanetest.Crash:
			say(lanetest.Partial)
			fmt.Fprintln(p.Err, lanetest.LastWords)
			return lane.ExitStatus{Code: lanetest.CrashCode}
		default:
			say("echo: " + string(text))
		}
		fmt.Fprintln(p.Out, v.result)
		return lane.ExitStatus{}
	}
}

func TestSuite(t *testing.T) {
	for dialect := range voices {
		t.Run(dialect, func(t *testing.T) {
			lanetest.Run(t, lanetest.Harness{
				Driver: Driver{},
				Spec: func(o lanetest.Opening) *agent.Spec {
					if o == lanetest.OpenMissing {
						return spec(t, lanetest.MissingProgram, dialect)
					}
					return spec(t, "agent", dialect)
				},
				Agent: func(lanetest.Opening) lanetest.Program { return fake(dialect) },
				Lacks: lanetest.Lacks{
					Questions:       true, // there is no channel back
					Handshake:       true, // nothing runs at open
					CancelClock:     true, // SIGINT and the ladder end the process
					ReusableProcess: true, // one process a turn
				},
			})
		})
	}
}
