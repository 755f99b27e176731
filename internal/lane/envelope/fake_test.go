package envelope

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"dragoman/envelope/agent"
	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	model "dragoman/wire/agent"
)

// A fake is an agent of the protocol that does what the words of lanetest
// ask.
type fake struct {
	opening lanetest.Opening
	stdio   lanetest.Stdio
	cancel  context.CancelFunc

	mu        sync.Mutex
	questions map[string]chan string // by permission id, "" is cancelled
	inputs    []string               // of every prompt
	crashed   bool
}

func (f *fake) run(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
	switch f.opening {
	case lanetest.OpenSilent:
		_, _ = io.Copy(io.Discard, p.In)
		return lane.ExitStatus{}
	case lanetest.OpenCrash:
		fmt.Fprintln(p.Err, lanetest.LastWords)
		return lane.ExitStatus{Code: lanetest.CrashCode}
	}
	f.stdio, f.questions = p, make(map[string]chan string)
	ctx, f.cancel = context.WithCancel(ctx)
	defer f.cancel()
	a := agent.New(agent.Config{Implementation: "fake 1.2"})
	a.Handle("agent.prompt", f.prompt)
	a.Handle("agent.prompt.permit", f.permit)
	a.Handle("agent.prompt.model", f.prompt)
	// A crash writes nothing more, so what Serve writes goes through a gate.
	err := a.Serve(ctx, p.In, f)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return lane.ExitStatus{Code: lanetest.CrashCode}
	}
	if err != nil {
		return lane.ExitStatus{Code: 1}
	}
	return lane.ExitStatus{}
}

// Write is the agent's stdout.
func (f *fake) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return 0, io.ErrClosedPipe
	}
	return f.stdio.Out.Write(b)
}

func say(r *agent.Request, text string) error {
	return r.Event("message", fmt.Appendf(nil, `{"text":%q}`, text))
}

func (f *fake) prompt(ctx context.Context, r *agent.Request) ([]byte, error) {
	var input struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(r.Input, &input); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.inputs = append(f.inputs, string(r.Input))
	f.mu.Unlock()
	switch word, rest, _ := strings.Cut(input.Text, " "); word {
	case lanetest.Echo:
		return nil, say(r, "echo: "+input.Text)
	case lanetest.Chunks:
		for i := range lanetest.ChunkCount {
			if err := say(r, fmt.Sprintf("%d ", i)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case lanetest.Ask:
		return nil, f.ask(ctx, r)
	case lanetest.Hang:
		if err := say(r, lanetest.Working); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	case lanetest.Deaf:
		if err := say(r, lanetest.Working); err != nil {
			return nil, err
		}
		<-r.Closed() // until the process is ended
		return nil, context.Canceled
	case lanetest.Crash:
		return nil, f.crash(r)
	case "say":
		return []byte(rest), nil
	case "events":
		for _, line := range strings.Split(rest, "\n") {
			name, output, _ := strings.Cut(line, " ")
			if err := r.Event(name, []byte(output)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return nil, &agent.Error{Code: "OVERLOADED", Message: "try " + input.Text, Retryable: true}
}

func (f *fake) ask(ctx context.Context, r *agent.Request) error {
	const id = "p1"
	answer := make(chan string, 1)
	f.mu.Lock()
	f.questions[id] = answer
	f.mu.Unlock()
	if err := r.Event("tool", []byte(`{"toolCallId":"`+lanetest.CallID+`","title":"run it","kind":"execute"}`)); err != nil {
		return err
	}
	err := r.Event("permission", []byte(`{"permissionId":"`+id+`","toolCallId":"`+lanetest.CallID+`","title":"run it",
		"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`))
	if err != nil {
		return err
	}
	select {
	case chosen := <-answer:
		if chosen == "yes" {
			return say(r, lanetest.Granted)
		}
		return say(r, lanetest.Refused)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) permit(_ context.Context, r *agent.Request) ([]byte, error) {
	var input struct {
		PermissionID string `json:"permissionId"`
		OptionID     string `json:"optionId"`
		Cancelled    bool   `json:"cancelled"`
	}
	if err := json.Unmarshal(r.Input, &input, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := f.questions[input.PermissionID]
	if answer == nil || input.Cancelled == (input.OptionID != "") {
		return nil, &agent.Error{Code: "INVALID_INPUT", Message: string(r.Input)}
	}
	delete(f.questions, input.PermissionID)
	answer <- input.OptionID
	return nil, nil
}

// crash ends the process in the middle of things.
func (f *fake) crash(r *agent.Request) error {
	if err := say(r, lanetest.Partial); err != nil {
		return err
	}
	if err := r.Flush(context.Background()); err != nil {
		return err
	}
	fmt.Fprintln(f.stdio.Err, lanetest.LastWords)
	f.mu.Lock()
	f.crashed = true
	f.mu.Unlock()
	f.cancel()
	return context.Canceled
}

func spec(t testing.TB, more string) *model.Spec {
	t.Helper()
	s, err := model.ParseSpec([]byte(`{"id":"fake","lane":"envelope","command":{"program":"fake"}` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testSpec(o lanetest.Opening) *model.Spec {
	program := "fake"
	if o == lanetest.OpenMissing {
		program = lanetest.MissingProgram
	}
	return &model.Spec{
		ID: "fake", Lane: "envelope", Command: model.Command{Program: program},
		Raw: bytes.Replace([]byte(`{"id":"fake","lane":"envelope","command":{"program":"P"}}`), []byte("P"), []byte(program), 1),
	}
}
