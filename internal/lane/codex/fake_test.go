package codex

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is an app-server that does what the words of lanetest ask.
type fake struct {
	opening lanetest.Opening
	// script answers prompts that aren't lanetest's: each line goes out, with
	// THREAD and TURN replaced.
	script func(text string) []string
	// refuse are methods that it refuses.
	refuse map[string]string
	// early goes out between the thread's birth and the answer to its start.
	early []string

	p        lanetest.Stdio
	mu       sync.Mutex
	got      []acp.Object // every line that it read
	threads  int
	turns    int
	running  map[string]string // thread → turn
	deaf     bool
	question map[string]chan string // request id → decision
	work     sync.WaitGroup
}

func (f *fake) run(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
	f.p, f.running, f.question = p, make(map[string]string), make(map[string]chan string)
	switch f.opening {
	case lanetest.OpenSilent:
		_, _ = io.Copy(io.Discard, p.In)
		return lane.ExitStatus{}
	case lanetest.OpenCrash:
		fmt.Fprintln(p.Err, lanetest.LastWords)
		return lane.ExitStatus{Code: lanetest.CrashCode}
	}
	defer f.work.Wait()
	lines := bufio.NewReader(p.In)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			f.mu.Lock()
			for id, q := range f.question {
				close(q)
				delete(f.question, id)
			}
			f.mu.Unlock()
			return lane.ExitStatus{}
		}
		o := acp.AsObject(line[:len(line)-1])
		f.mu.Lock()
		f.got = append(f.got, o)
		f.mu.Unlock()
		if f.take(o) {
			return lane.ExitStatus{Code: lanetest.CrashCode}
		}
	}
}

func (f *fake) line(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(f.p.Out, format+"\n", args...)
}

// calls are the params of the calls of a method so far.
func (f *fake) calls(method string) []acp.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []acp.Object
	for _, o := range f.got {
		if o.Str("method") == method {
			list = append(list, o.Object("params"))
		}
	}
	return list
}

// take handles one line; true means that it crashes.
func (f *fake) take(o acp.Object) bool {
	id, method, params := string(o.Get("id")), o.Str("method"), o.Object("params")
	if why, ok := f.refuse[method]; ok {
		f.line(`{"error":{"code":-32600,"message":%s},"id":%s}`, quoted(why), id)
		return false
	}
	switch method {
	case "":
		f.decided(id, o.Object("result").Str("decision"))
	case "initialize":
		f.line(`{"id":%s,"result":{"userAgent":"dragoman/0.171.0 (Debian) (dragoman; 1)"}}`, id)
		f.line(`{"method":"configWarning","params":{"summary":"no bubblewrap","details":null}}`)
	case "thread/start", "thread/resume", "thread/fork":
		f.opened(id, params)
	case "model/list":
		f.line(`{"id":%s,"result":{"data":[{"model":"gpt-5.5","displayName":"GPT-5.5"},{"model":"old","hidden":true}]}}`, id)
	case "turn/start":
		return f.prompt(id, params)
	case "turn/interrupt":
		f.line(`{"id":%s,"result":{}}`, id)
		f.interrupted(params.Str("threadId"))
	case "initialized":
	default:
		f.line(`{"id":%s,"result":{}}`, id)
	}
	return false
}

func (f *fake) opened(id string, params acp.Object) {
	f.mu.Lock()
	f.threads++
	thread := fmt.Sprintf("thread-%d", f.threads)
	f.mu.Unlock()
	if old := params.Str("threadId"); old != "" && f.threads == 1 {
		thread = old
	}
	for _, l := range f.early {
		f.line("%s", strings.ReplaceAll(l, "THREAD", thread))
	}
	sandbox := policyType(params.Str("sandbox"))
	f.line(`{"id":%s,"result":{"thread":{"id":%q},"model":"gpt-5.5","approvalPolicy":%q,"sandbox":{"type":%q},"reasoningEffort":"medium"}}`,
		id, thread, params.Str("approvalPolicy"), sandbox)
	f.line(`{"method":"thread/started","params":{"thread":{"id":%q}}}`, thread)
}

func (f *fake) say(thread, text string) {
	f.line(`{"method":"item/agentMessage/delta","params":{"threadId":%q,"itemId":"m","delta":%s}}`, thread, quoted(text))
}

func (f *fake) done(thread, status string) {
	f.mu.Lock()
	turn := f.running[thread]
	delete(f.running, thread)
	f.mu.Unlock()
	if turn != "" {
		f.line(`{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":%q,"status":%q,"error":null}}}`, thread, turn, status)
	}
}

func (f *fake) interrupted(thread string) {
	if !f.deaf {
		f.done(thread, "interrupted")
	}
}

func (f *fake) prompt(id string, params acp.Object) bool {
	thread := params.Str("threadId")
	list, _ := params.List("input")
	text := acp.AsObject(list[0]).Str("text")
	f.mu.Lock()
	f.turns++
	turn := fmt.Sprintf("turn-%d", f.turns)
	f.running[thread] = turn
	f.mu.Unlock()
	f.line(`{"id":%s,"result":{"turn":{"id":%q,"status":"inProgress"}}}`, id, turn)
	f.line(`{"method":"turn/started","params":{"threadId":%q,"turn":{"id":%q}}}`, thread, turn)
	switch text {
	case lanetest.Echo:
		f.say(thread, "echo: ")
		f.say(thread, text)
		f.line(`{"method":"item/completed","params":{"threadId":%q,"item":{"type":"agentMessage","id":"m","text":%s}}}`, thread, quoted("echo: "+text))
		f.done(thread, "completed")
	case lanetest.Chunks:
		for i := range lanetest.ChunkCount {
			f.say(thread, fmt.Sprintf("%d ", i))
		}
		f.done(thread, "completed")
	case lanetest.Ask:
		f.ask(thread)
	case lanetest.Hang:
		f.say(thread, lanetest.Working)
	case lanetest.Deaf:
		f.deaf = true
		f.say(thread, lanetest.Working)
	case lanetest.Crash:
		f.say(thread, lanetest.Partial)
		fmt.Fprintln(f.p.Err, lanetest.LastWords)
		return true
	default:
		for _, l := range f.script(text) {
			f.line("%s", strings.NewReplacer("THREAD", thread, "TURN", turn).Replace(l))
		}
	}
	return false
}

func (f *fake) decided(id, decision string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if q := f.question[id]; q != nil {
		q <- decision
		delete(f.question, id)
	}
}

func (f *fake) ask(thread string) {
	f.line(`{"method":"item/started","params":{"threadId":%q,"item":{"type":"commandExecution","id":%q,"command":"/bin/bash -lc 'ls -l'","status":"inProgress"}}}`, thread, lanetest.CallID)
	f.mu.Lock()
	id := fmt.Sprint(f.turns)
	answer := make(chan string, 1)
	f.question[id] = answer
	f.mu.Unlock()
	f.line(`{"method":"item/commandExecution/requestApproval","id":%s,"params":{"threadId":%q,"itemId":%q,"command":"/bin/bash -lc 'ls -l'"}}`, id, thread, lanetest.CallID)
	f.work.Go(func() {
		switch <-answer {
		case accept, acceptSession:
			f.say(thread, lanetest.Granted)
			f.done(thread, "completed")
		case decline:
			f.say(thread, lanetest.Refused)
			f.done(thread, "completed")
		case cancelTurn:
			f.done(thread, "interrupted")
		}
	})
}

func spec(t testing.TB, program, more string) *agent.Spec {
	t.Helper()
	s, err := agent.ParseSpec([]byte(`{"id":"fake","lane":"codex","command":{"program":` + quoted(program) + `,"args":["own"]}` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kinds are the kinds of a sink's events.
func kinds(s *lanetest.Sink) []string {
	var list []string
	for _, ev := range s.Events() {
		list = append(list, string(ev.Kind))
	}
	return slices.Compact(list)
}
