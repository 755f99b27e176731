package acp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A recorded line: what a client sent ('>') or the agent ('<'), trimmed, with
// real agents (testdata/recorded, AGENT.SCENARIO.txt).
type recorded struct {
	sent bool
	line string
	rpcMessage
}

func readRecording(t *testing.T, file string) []recorded {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	for line := range strings.Lines(string(text)) {
		r := recorded{sent: line[0] == '>', line: strings.TrimSpace(line[2:])}
		if err := json.Unmarshal([]byte(r.line), &r.rpcMessage); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, r)
	}
	return list
}

// A replay is an agent that says what was recorded, each line when the client
// has sent what stands before it.
type replay struct {
	t     *testing.T
	lines []recorded
	// cancel is called where the recorded client cancels.
	cancel func()
	// early are answers that came before their turn: two questions at once
	// may be answered in any order.
	early map[string]rpcMessage
}

func (r *replay) run(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
	in := bufio.NewReader(p.In)
	ids := make(map[string]string) // recorded id of a client's request → ours
	for _, l := range r.lines {
		if !l.sent {
			line := l.line
			if l.Method == "" {
				line = strings.Replace(line, `"id":`+string(l.ID), `"id":`+ids[string(l.ID)], 1)
			}
			p.Out.Write([]byte(line + "\n"))
			continue
		}
		if l.Method == wire.MethodCancel {
			time.Sleep(time.Millisecond) // the client takes what was said before
			r.cancel()
		}
		got, ok := r.next(in, l)
		if !ok {
			return lane.ExitStatus{}
		}
		ids[string(l.ID)] = string(got.ID)
	}
	io.Copy(io.Discard, in)
	return lane.ExitStatus{}
}

// cancels holds the cancel of the turn that runs.
type cancels struct {
	mu sync.Mutex
	c  chan struct{}
}

func (c *cancels) next() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c = make(chan struct{})
	return c.c
}

func (c *cancels) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.c)
}

// next reads the client's message that stands where l was sent.
func (r *replay) next(in *bufio.Reader, l recorded) (rpcMessage, bool) {
	for {
		if m, ok := r.early[string(l.ID)]; ok && l.Method == "" {
			if l.Error != nil && m.Error == nil {
				r.t.Errorf("the client answered %s, recorded %s", m.Result, l.line)
			}
			return m, true
		}
		line, err := in.ReadBytes('\n')
		if err != nil {
			return rpcMessage{}, false
		}
		var m rpcMessage
		if err := json.Unmarshal(line, &m); err != nil {
			r.t.Errorf("the client sent %s: %v", line, err)
		}
		if m.Method == "" {
			r.early[string(m.ID)] = m
			continue
		}
		if m.Method != l.Method {
			r.t.Errorf("the client sent %s, recorded %s", line, l.line)
			return m, false
		}
		return m, true
	}
}

// Every message of the recorded sessions with real agents is handled by name
// or carried as raw: none is dropped, none is fatal.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.txt")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			lines := readRecording(t, file)
			synctest.Test(t, func(t *testing.T) { replayRecording(t, lines) })
		})
	}
}

func replayRecording(t *testing.T, lines []recorded) {
	var cancels cancels
	r := &replay{t: t, lines: lines, cancel: cancels.fire, early: make(map[string]rpcMessage)}
	s := open(t, how{program: r.run, launch: func(l *lane.Launch) {
		for _, line := range lines {
			if line.sent && (line.Method == wire.MethodLoad || line.Method == wire.MethodResume) {
				l.Resume = wire.Object(line.Params).Str("sessionId")
			}
		}
	}, spec: `"prefer_load":true`})
	defer s.close()
	s.AnswerWith(recordedAnswers(lines))
	number := uint64(0)
	for i, line := range lines {
		if !line.sent || line.Method != wire.MethodPrompt {
			continue
		}
		number++
		out, err := s.conn.Prompt(t.Context(), lane.Turn{Number: number, Text: "x", Cancel: cancels.next()})
		checkRecordedEnd(t, number, replyTo(lines[i:]), out, err)
	}
	time.Sleep(time.Second) // what comes after the last turn
	checkRecordedEvents(t, s, lines)
}

// recordedAnswers answers questions as the recorded client did.
func recordedAnswers(lines []recorded) func(context.Context, *agent.Question) agent.Answer {
	answers := make(map[string]string) // params of the request → option
	for i, line := range lines {
		if line.sent || line.Method != wire.MethodPermission {
			continue
		}
		for _, later := range lines[i:] {
			if later.sent && later.Method == "" && bytes.Equal(later.ID, line.ID) {
				answers[string(line.Params)] = wire.Object(later.Result).Object("outcome").Str("optionId")
				break
			}
		}
	}
	return func(ctx context.Context, q *agent.Question) agent.Answer {
		id := answers[string(q.Raw)]
		if id == "" {
			<-ctx.Done() // it was left open until the cancel
		}
		return agent.Answer{OptionID: id}
	}
}

// replyTo finds the reply to the first of lines.
func replyTo(lines []recorded) rpcMessage {
	for _, line := range lines[1:] {
		if !line.sent && line.Method == "" && bytes.Equal(line.ID, lines[0].ID) {
			return line.rpcMessage
		}
	}
	return rpcMessage{}
}

func checkRecordedEnd(t *testing.T, number uint64, reply rpcMessage, out agent.Outcome, err error) {
	t.Helper()
	var e *agent.Error
	if reply.Error != nil {
		if !errors.As(err, &e) {
			t.Errorf("turn %d: outcome %+v, error %v, recorded %s", number, out, err, reply.Error)
		}
		return
	}
	if want := wire.Object(reply.Result).Str("stopReason"); err != nil || out.StopReason != want {
		t.Errorf("turn %d: outcome %+v, error %v, want %s", number, out, err, want)
	}
}

// recordedKinds are the kinds of event that an update may become.
var recordedKinds = map[string][]agent.EventKind{
	wire.UpdateUserChunk:      {agent.KindRaw},
	wire.UpdateMessageChunk:   {agent.KindMessage},
	wire.UpdateThoughtChunk:   {agent.KindThought},
	wire.UpdateToolCall:       {agent.KindToolCall},
	wire.UpdateToolCallUpdate: {agent.KindToolCallUpdate},
	wire.UpdatePlan:           {agent.KindPlan},
	wire.UpdateCommands:       {agent.KindCommands},
	wire.UpdateMode:           {agent.KindMode},
	wire.UpdateConfig:         {agent.KindConfig},
	wire.UpdateInfo:           {agent.KindTitle, agent.KindRaw},
	wire.UpdateUsage:          {agent.KindUsage},
}

func checkRecordedEvents(t *testing.T, s *session, lines []recorded) {
	t.Helper()
	events := s.Events()
	questions := 0
	for _, line := range lines {
		if line.sent {
			continue
		}
		if line.Method == wire.MethodPermission {
			questions++
		}
		u, ok := wire.ReadUpdate([]byte(line.Params))
		if line.Method != wire.MethodUpdate || !ok {
			continue
		}
		if text, isText := wire.TextOf(u.Content); u.Kind == wire.UpdateMessageChunk && isText && text == "" {
			continue
		}
		if len(events) == 0 {
			t.Fatalf("no event for %s", u.Raw)
		}
		ev := events[0]
		events = events[1:]
		if !slices.Contains(recordedKinds[u.Kind], ev.Kind) {
			t.Errorf("%s became %s", u.Raw, ev.Kind)
		}
		if ev.Kind != agent.KindMessage && !bytes.Equal(ev.Raw, u.Raw) {
			t.Errorf("raw %s, want %s", ev.Raw, u.Raw)
		}
	}
	if len(events) > 0 {
		t.Errorf("%d events more than updates, the first a %s", len(events), events[0].Kind)
	}
	if got := len(s.Questions()); got != questions {
		t.Errorf("%d questions, recorded %d", got, questions)
	}
}
