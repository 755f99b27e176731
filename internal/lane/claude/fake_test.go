package claude

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

const session = "5e551017-0000-4000-8000-000000000001"

// A fake is a Claude Code that does what the words of lanetest ask.
type fake struct {
	opening lanetest.Opening
	p       lanetest.Stdio
	// script answers prompts that aren't lanetest's: each line goes out as it
	// stands.
	script func(text string) []string
	// late is how long it takes until a prompt's turn begins. Before that,
	// interrupts are lost.
	late time.Duration
	// ignore is how many interrupts it doesn't hear.
	ignore int
	// refuse are control requests that it refuses, by subtype.
	refuse map[string]string

	mu       sync.Mutex
	got      []acp.Object // every line that it read
	running  bool
	deaf     bool
	question chan acp.Object
	work     sync.WaitGroup
}

func (f *fake) run(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
	f.p = p
	switch f.opening {
	case lanetest.OpenSilent:
		_, _ = io.Copy(io.Discard, p.In)
		return lane.ExitStatus{}
	case lanetest.OpenCrash:
		if slices.Contains(p.Args, "--resume") {
			fmt.Fprintln(p.Err, "No conversation found with session ID: x")
			return lane.ExitStatus{Code: 1}
		}
		fmt.Fprintln(p.Err, lanetest.LastWords)
		return lane.ExitStatus{Code: lanetest.CrashCode}
	}
	defer f.work.Wait()
	lines := bufio.NewReader(p.In)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			f.mu.Lock()
			f.endQuestion(nil)
			f.mu.Unlock()
			return lane.ExitStatus{}
		}
		if !jsontext.Value(line).IsValid() {
			fmt.Fprintf(p.Err, "Error parsing streaming input line: %s", line)
			return lane.ExitStatus{Code: 1}
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

// take handles one line; true means that it crashes.
func (f *fake) take(o acp.Object) bool {
	switch o.Str("type") {
	case typeControlRequest:
		f.controlled(o)
	case typeControlResponse:
		body := o.Object("response")
		f.mu.Lock()
		f.endQuestion(body.Object("response"))
		f.mu.Unlock()
	case typeUser:
		blocks, _ := o.Object("message").List("content")
		if f.late > 0 {
			f.work.Go(func() {
				time.Sleep(f.late)
				f.prompt(acp.AsObject(blocks[0]).Str("text"))
			})
			return false
		}
		return f.prompt(acp.AsObject(blocks[0]).Str("text"))
	}
	return false
}

// endQuestion gives an answer to the open question. f.mu is held.
func (f *fake) endQuestion(answer acp.Object) {
	if f.question != nil {
		f.question <- answer
		f.question = nil
	}
}

func (f *fake) controlled(o acp.Object) {
	id, request := o.Str("request_id"), o.Object("request")
	if why, ok := f.refuse[request.Str("subtype")]; ok {
		f.line(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":%q}}`, id, why)
		return
	}
	response := `{}`
	switch request.Str("subtype") {
	case controlInitialize:
		response = `{"commands":[{"name":"review","description":"Review it","argumentHint":"[file]"}],
			"models":[{"value":"default","displayName":"Default","description":"d"},{"value":"sonnet","displayName":"Sonnet"}]}`
	case controlSetModel:
		response = `{"model":"claude-` + request.Str("model") + `"}`
	case controlSetMode:
		response = `{"mode":` + quote(request.Str("mode")) + `}`
	case controlInterrupt:
		response = `{"still_queued":[]}`
	}
	response = strings.ReplaceAll(response, "\n", "")
	f.line(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, id, response)
	if request.Str("subtype") == controlInterrupt {
		f.interrupted()
	}
}

func (f *fake) interrupted() {
	f.mu.Lock()
	running := f.running && !f.deaf && f.ignore == 0
	f.ignore = max(0, f.ignore-1)
	if running {
		f.running = false
		f.endQuestion(nil)
	}
	f.mu.Unlock()
	if running {
		f.line(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"parent_tool_use_id":null}`)
		f.line(`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","session_id":%q,"total_cost_usd":0.5}`, session)
	}
}

// said is a text in pieces, then as a whole, as Claude Code does it.
func (f *fake) said(text string) {
	f.line(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":90,"output_tokens":10}}},"parent_tool_use_id":null}`)
	f.line(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}},"parent_tool_use_id":null}`, quote(text))
	f.line(`{"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":%s}]},"parent_tool_use_id":null}`, quote(text))
	f.line(`{"type":"stream_event","event":{"type":"content_block_stop","index":0},"parent_tool_use_id":null}`)
}

func (f *fake) done() {
	f.mu.Lock()
	was := f.running
	f.running = false
	f.mu.Unlock()
	if was {
		f.line(`{"type":"result","subtype":"success","is_error":false,"result":"","stop_reason":"end_turn","session_id":%q,"total_cost_usd":0.25,"usage":{"input_tokens":3,"output_tokens":4}}`, session)
	}
}

func (f *fake) prompt(text string) bool {
	f.mu.Lock()
	f.running = true
	f.mu.Unlock()
	f.line(`{"type":"system","subtype":"init","session_id":"first-printed","model":"claude-x","permissionMode":"default","claude_code_version":"2.1.332"}`)
	switch text {
	case lanetest.Echo:
		f.said("echo: " + text)
		f.done()
	case lanetest.Chunks:
		for i := range lanetest.ChunkCount {
			f.line(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"%d "}}}`, i)
		}
		f.done()
	case lanetest.Ask:
		f.ask()
	case lanetest.Hang:
		f.said(lanetest.Working)
	case lanetest.Deaf:
		f.mu.Lock()
		f.deaf = true
		f.mu.Unlock()
		f.said(lanetest.Working)
	case lanetest.Crash:
		f.said(lanetest.Partial)
		fmt.Fprintln(f.p.Err, lanetest.LastWords)
		return true
	default:
		for _, l := range f.script(text) {
			f.line("%s", l)
		}
	}
	return false
}

func (f *fake) ask() {
	f.line(`{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null}`, lanetest.CallID)
	answer := make(chan acp.Object, 1)
	f.mu.Lock()
	f.question = answer
	f.mu.Unlock()
	f.line(`{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":%q,"permission_suggestions":[{"type":"addRules"}]}}`, lanetest.CallID)
	f.work.Go(func() {
		switch got := <-answer; got.Str("behavior") {
		case "allow":
			f.said(lanetest.Granted)
		case "deny":
			f.said(lanetest.Refused)
		default:
			return // interrupted, or the end of input
		}
		f.done()
	})
}

func spec(t testing.TB, program, more string) *agent.Spec {
	t.Helper()
	s, err := agent.ParseSpec([]byte(`{"id":"fake","lane":"claude","command":{"program":` + quote(program) + `,"args":["own"]}` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
