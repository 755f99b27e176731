package pi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

const sessionID = "01a22e04-0000-7000-8000-000000000001"

// A fake is a pi that does what the words of lanetest ask.
type fake struct {
	opening lanetest.Opening
	// old is a pi before agent_settled, and without thinking levels.
	old bool
	// ungated doesn't load the extension.
	ungated bool
	// script answers prompts that aren't lanetest's: each line goes out as it
	// stands.
	script func(text string) []string
	file   string

	p        lanetest.Stdio
	mu       sync.Mutex
	args     []string
	gate     string       // the extension's text
	got      []acp.Object // every line that it read
	running  bool
	deaf     bool
	level    string
	model    string
	question chan acp.Object
	work     sync.WaitGroup
}

func (f *fake) run(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
	f.p, f.args = p, p.Args
	if f.level == "" {
		f.level, f.model, f.file = "medium", "small", "/home/u/.pi/s.jsonl"
	}
	switch f.opening {
	case lanetest.OpenSilent:
		_, _ = io.Copy(io.Discard, p.In)
		return lane.ExitStatus{}
	case lanetest.OpenCrash:
		fmt.Fprintln(p.Err, lanetest.LastWords)
		return lane.ExitStatus{Code: lanetest.CrashCode}
	}
	defer f.work.Wait()
	if i := slices.Index(p.Args, "-e"); i >= 0 && !f.ungated {
		source, _ := os.ReadFile(p.Args[i+1])
		f.gate = string(source)
		f.line(`{"type":"extension_ui_request","id":"u0","method":"setStatus","statusKey":%q,"statusText":"ready"}`, gateStatus)
	}
	lines := bufio.NewReader(p.In)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			f.endQuestion(nil)
			return lane.ExitStatus{}
		}
		if !jsontext.Value(line).IsValid() {
			f.line(`{"type":"response","command":"parse","success":false,"error":"bad"}`)
			continue
		}
		o := acp.AsObject(line)
		f.mu.Lock()
		f.got = append(f.got, o)
		f.mu.Unlock()
		if f.take(o) {
			return lane.ExitStatus{Code: lanetest.CrashCode}
		}
	}
}

func (f *fake) line(format string, args ...any) { fmt.Fprintf(f.p.Out, format+"\n", args...) }

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func (f *fake) answer(o acp.Object, data string) {
	f.line(`{"id":%q,"type":"response","command":%q,"success":true,"data":%s}`, o.Str("id"), o.Str("type"), data)
}

func (f *fake) refuse(o acp.Object, why string) {
	f.line(`{"id":%q,"type":"response","command":%q,"success":false,"error":%q}`, o.Str("id"), o.Str("type"), why)
}

func modelJSON(id string) string {
	return fmt.Sprintf(`{"id":%q,"name":"Model %s","provider":"mock","contextWindow":1000,"input":["text","image"]}`, id, id)
}

// take handles one line; true means that it crashes.
func (f *fake) take(o acp.Object) bool {
	switch o.Str("type") {
	case "get_state":
		f.mu.Lock()
		running := f.running
		f.mu.Unlock()
		f.answer(o, fmt.Sprintf(`{"model":%s,"thinkingLevel":%q,"isStreaming":%t,"sessionFile":%q,"sessionId":%q}`,
			modelJSON(f.model), f.level, running, f.file, sessionID))
	case "get_available_models":
		f.answer(o, `{"models":[`+modelJSON("small")+`,`+modelJSON("large")+`]}`)
	case "get_available_thinking_levels":
		if f.old {
			f.refuse(o, "Unknown command")
			break
		}
		f.answer(o, `{"levels":["off","medium","high"]}`)
	case "get_commands":
		f.answer(o, `{"commands":[{"name":"review","description":"Review it"}]}`)
	case "set_model":
		f.model = o.Str("modelId")
		f.answer(o, modelJSON(f.model))
	case "set_thinking_level":
		f.level = o.Str("level")
		f.answer(o, `{}`)
	case "switch_session":
		f.file = o.Str("sessionPath")
		f.answer(o, `{"cancelled":false}`)
	case "extension_ui_response":
		f.endQuestion(o)
	case "abort":
		f.aborted()
		f.answer(o, `{}`)
	case "prompt":
		return f.prompt(o)
	}
	return false
}

// endQuestion gives an answer to the open question.
func (f *fake) endQuestion(answer acp.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.question != nil {
		f.question <- answer
		f.question = nil
	}
}

func (f *fake) aborted() {
	f.mu.Lock()
	running := f.running && !f.deaf
	f.mu.Unlock()
	if running {
		f.settle("aborted")
	}
}

// say is a text in a piece, then as a whole.
func (f *fake) say(text string) {
	f.line(`{"type":"message_start","message":{"role":"assistant","content":[]}}`)
	f.line(`{"type":"message_update","message":{"role":"assistant","content":[{"type":"text","text":%s}]},"assistantMessageEvent":{"type":"text_delta","delta":%s,"partial":{"content":[]}}}`, quote(text), quote(text))
	f.line(`{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":%s}],"stopReason":"stop","usage":{"input":3,"output":4,"reasoning":1,"totalTokens":7,"cost":{"total":0.5}}}}`, quote(text))
}

func (f *fake) settle(stop string) {
	f.mu.Lock()
	was := f.running
	f.running = false
	f.mu.Unlock()
	if !was {
		return
	}
	if stop != "stop" {
		f.line(`{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":%q,"errorMessage":"Request was aborted"}}`, stop)
	}
	if f.old {
		f.line(`{"type":"agent_end","messages":[]}`)
		return
	}
	f.line(`{"type":"agent_end","messages":[],"willRetry":false}`)
	f.line(`{"type":"agent_settled","aborted":%t}`, stop == "aborted")
}

func (f *fake) prompt(o acp.Object) bool {
	f.mu.Lock()
	f.running = true
	f.mu.Unlock()
	text := o.Str("message")
	if text == "refuse" {
		f.refuse(o, "Agent is already processing")
		f.running = false
		return false
	}
	f.answer(o, `{"disposition":"started"}`)
	f.line(`{"type":"agent_start"}`)
	switch text {
	case lanetest.Echo:
		f.say("echo: " + text)
		f.settle("stop")
	case lanetest.Chunks:
		for i := range lanetest.ChunkCount {
			f.line(`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"%d "}}`, i)
		}
		f.line(`{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"all of it"}],"stopReason":"stop"}}`)
		f.settle("stop")
	case lanetest.Ask:
		f.ask()
	case lanetest.Hang:
		f.say(lanetest.Working)
	case lanetest.Deaf:
		f.mu.Lock()
		f.deaf = true
		f.mu.Unlock()
		f.say(lanetest.Working)
	case lanetest.Crash:
		f.say(lanetest.Partial)
		fmt.Fprintln(f.p.Err, lanetest.LastWords)
		return true
	default:
		for _, l := range f.script(text) {
			f.line("%s", l)
		}
		f.mu.Lock()
		f.running = false
		f.mu.Unlock()
	}
	return false
}

func (f *fake) ask() {
	f.line(`{"type":"tool_execution_start","toolCallId":%q,"toolName":"bash","args":{"command":"ls"}}`, lanetest.CallID)
	answer := make(chan acp.Object, 1)
	f.mu.Lock()
	f.question = answer
	f.mu.Unlock()
	title := fmt.Sprintf(`{"gate":"dragoman","toolCallId":%q,"toolName":"bash","input":{"command":"ls"}}`, lanetest.CallID)
	f.line(`{"type":"extension_ui_request","id":"u1","method":"select","title":%s,"options":["allow_once","reject_once"]}`, quote(title))
	f.work.Go(func() {
		got := <-answer
		switch {
		case got == nil:
			return // the end of input
		case got.Str("value") == agent.AllowOnce:
			f.say(lanetest.Granted)
		default:
			f.say(lanetest.Refused)
		}
		f.settle("stop")
	})
}

func spec(t testing.TB, program, more string) *agent.Spec {
	t.Helper()
	s, err := agent.ParseSpec([]byte(`{"id":"fake","lane":"pi","command":{"program":` + quote(program) + `,"args":["own"]}` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
