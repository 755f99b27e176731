package acp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSession is the fake agent's session id.
const fakeSession = "fake-session"

// rpcMessage is one JSON-RPC message as the fake reads it.
type rpcMessage struct {
	ID     jsontext.Value `json:"id,omitempty"`
	Method string         `json:"method,omitempty"`
	Params jsontext.Value `json:"params,omitempty"`
	Result jsontext.Value `json:"result,omitempty"`
	Error  jsontext.Value `json:"error,omitempty"`
}

// fake is an ACP agent in a test. Its handlers run on its own reading
// goroutine.
type fake struct {
	lanetest.Stdio
	mu     sync.Mutex
	out    *bufio.Writer
	asked  int
	prompt jsontext.Value // id of the running prompt
	// answers are the continuations of the fake's own requests.
	answers map[string]func(rpcMessage)
	// handle answers what the fake doesn't; false: not handled.
	handle func(f *fake, m rpcMessage) bool
	log    func(line string)
}

// script is a fake whose handle comes first.
func script(handle func(f *fake, m rpcMessage) bool) lanetest.Program {
	return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		return runFake(ctx, &fake{Stdio: p, handle: handle})
	}
}

func runFake(_ context.Context, f *fake) lane.ExitStatus {
	f.out = bufio.NewWriter(f.Out)
	f.answers = make(map[string]func(rpcMessage))
	in := bufio.NewReader(f.In)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return lane.ExitStatus{}
		}
		if f.log != nil {
			f.log(line)
		}
		var m rpcMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			fmt.Fprintf(f.Err, "fake: %v\n", err)
			return lane.ExitStatus{Code: 70}
		}
		if code, done := f.take(m); done {
			return lane.ExitStatus{Code: code}
		}
	}
}

func (f *fake) take(m rpcMessage) (code int, done bool) {
	if m.Method == "" {
		if next := f.answers[string(m.ID)]; next != nil {
			delete(f.answers, string(m.ID))
			next(m)
		}
		return 0, false
	}
	if f.handle != nil && f.handle(f, m) {
		return 0, false
	}
	switch m.Method {
	case "initialize":
		f.result(m.ID, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"fake","version":"1"}}`)
	case "session/new":
		f.result(m.ID, `{"sessionId":"`+fakeSession+`"}`)
	case "session/load", "session/resume":
		f.result(m.ID, `{}`)
	case "session/prompt":
		return f.turn(m)
	case "session/cancel":
		f.stop("cancelled")
	default:
		if m.ID != nil {
			f.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"method not found"}}`)
		}
	}
	return 0, false
}

// turn does what the prompt's word says.
func (f *fake) turn(m rpcMessage) (code int, done bool) {
	var p struct {
		Prompt []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return 70, true
	}
	text := p.Prompt[0].Text
	f.prompt = m.ID
	switch text {
	case lanetest.Chunks:
		for i := range lanetest.ChunkCount {
			f.chunk(fmt.Sprint(i, " "))
		}
		f.stop("end_turn")
	case lanetest.Ask:
		f.ask()
	case lanetest.Hang:
		f.chunk(lanetest.Working)
	case lanetest.Deaf:
		f.chunk(lanetest.Working)
		f.prompt = nil
	case lanetest.Crash:
		f.chunk(lanetest.Partial)
		io.WriteString(f.Err, "noise\n"+lanetest.LastWords+"\n")
		return lanetest.CrashCode, true
	default:
		f.chunk("echo: " + text)
		f.stop("end_turn")
	}
	return 0, false
}

func (f *fake) ask() {
	f.update(`{"sessionUpdate":"tool_call","toolCallId":"` + lanetest.CallID + `","title":"run it","kind":"execute","status":"pending"}`)
	f.request("session/request_permission", `{"sessionId":"`+fakeSession+`","toolCall":{"toolCallId":"`+lanetest.CallID+`"},`+
		`"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`,
		func(m rpcMessage) {
			text := "an answer that wasn't offered"
			switch outcome := string(m.Result); {
			case strings.Contains(outcome, `"yes"`):
				text = lanetest.Granted
			case strings.Contains(outcome, `"no"`), strings.Contains(outcome, `"cancelled"`):
				text = lanetest.Refused
			}
			f.chunk(text)
			f.stop("end_turn")
		})
}

// request asks the client; ids are strings here.
func (f *fake) request(method, params string, next func(rpcMessage)) {
	f.asked++
	id := fmt.Sprintf(`"ask-%d"`, f.asked)
	f.answers[id] = next
	f.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
}

// stop answers the running prompt.
func (f *fake) stop(reason string) {
	if f.prompt != nil {
		f.result(f.prompt, `{"stopReason":"`+reason+`"}`)
		f.prompt = nil
	}
}

func (f *fake) chunk(text string) {
	f.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`)
}

func (f *fake) update(update string) {
	f.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + fakeSession + `","update":` + update + `}}`)
}

func (f *fake) result(id jsontext.Value, result string) {
	f.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (f *fake) fail(id jsontext.Value, failure string) {
	f.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + failure + `}`)
}

func (f *fake) write(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.WriteString(line)
	f.out.WriteByte('\n')
	f.out.Flush()
}

// spec parses a spec of this lane; members is its JSON without the braces'
// common part.
func spec(t testing.TB, members string) *agent.Spec {
	t.Helper()
	if members != "" {
		members = "," + members
	}
	if !strings.Contains(members, `"command":{`) {
		members += `,"command":{"program":"fake"}`
	}
	s, err := agent.ParseSpec([]byte(`{"id":"fake","lane":"acp"` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openings are the fakes of the suite's openings.
func opening(o lanetest.Opening) lanetest.Program {
	switch o {
	case lanetest.OpenCrash:
		return func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
			io.WriteString(p.Err, lanetest.LastWords+"\n")
			return lane.ExitStatus{Code: lanetest.CrashCode}
		}
	case lanetest.OpenSilent:
		return func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
			io.Copy(io.Discard, p.In)
			return lane.ExitStatus{}
		}
	}
	return script(nil)
}

func TestSuite(t *testing.T) {
	lanetest.Run(t, lanetest.Harness{
		Driver: Driver{Version: "1"},
		Spec: func(o lanetest.Opening) *agent.Spec {
			s := spec(t, "")
			if o == lanetest.OpenMissing {
				s.Command.Program = lanetest.MissingProgram
			}
			return s
		},
		Agent: opening,
		Allow: "yes", Reject: "no",
	})
}
