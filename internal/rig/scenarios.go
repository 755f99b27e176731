package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A scenario is one column of the matrix. It runs in a session that the
// scenarios before it left open.
type scenario struct {
	name string
	run  func(ctx context.Context, r *runner) error
}

// scenarios in the order in which they run; resume and eof start and end
// sidecars of their own.
var scenarios = []scenario{
	{"handshake", handshake},
	{"text", textTurn},
	{"tool allowed", toolAllowed},
	{"tool rejected", toolRejected},
	{"cancel", cancelTurn},
	{"turn after cancel", textTurn},
	{"model error", modelError},
	{"eof", endOfInput},
	{"resume", resumed},
	{"eof mid-turn", endMidTurn},
	{"run verb", runVerb},
}

const turnLimit = 90 * time.Second

// errCant marks what the agent said that it can't do.
type cantError struct{ why string }

func (e *cantError) Error() string { return e.why }

// A runner holds one agent's state over its scenarios.
type runner struct {
	o       options
	agent   agent
	place   place
	host    *host
	session string
	native  string
	resume  bool // the agent said that it can
}

// env is what a sidecar and its agents get: nothing of this machine's.
func (r *runner) env() []string {
	return []string{"PATH=" + filepath.Dir(r.place.node()) + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + r.place.home, "LANG=C.UTF-8", "TMPDIR=" + os.TempDir()}
}

func (r *runner) open(ctx context.Context, resume string) error {
	if r.host == nil {
		h, err := startHost(r.o, r.env())
		if err != nil {
			return err
		}
		r.host = h
	}
	params := object{"spec": r.agent.spec(r.place), "cwd": r.place.cwd}
	if resume != "" {
		params["resume"] = resume
	}
	if r.agent.mode != "" {
		params["options"] = object{"mode": r.agent.mode}
	}
	result, err := r.host.call(ctx, "session/open", params)
	if err != nil {
		return err
	}
	r.session, _ = result["sessionId"].(string)
	if native, _ := result["nativeSessionId"].(string); native != "" {
		r.native = native
	}
	caps, _ := result["capabilities"].(object)
	r.resume, _ = caps["sessionResume"].(bool)
	return nil
}

// ready opens a session where an earlier scenario left none.
func (r *runner) ready(ctx context.Context) error {
	if r.host != nil && r.session != "" {
		r.host.takeText()
		return nil
	}
	return r.open(ctx, "")
}

// drop forgets a session after a failure, so that the next scenario starts
// anew.
func (r *runner) drop() {
	if r.host != nil {
		r.host.end(30 * time.Second)
	}
	r.host, r.session = nil, ""
}

func (r *runner) prompt(text string) chan object {
	return r.host.start("session/prompt", object{"sessionId": r.session, "text": text})
}

// turn prompts and returns the outcome and its text, wherever the lane puts it.
func (r *runner) turn(ctx context.Context, text string) (object, string, error) {
	result, err := r.host.wait(ctx, r.prompt(text))
	r.learn()
	said := r.host.takeText()
	if err == nil && said == "" {
		said, _ = result["text"].(string)
	}
	return result, said, err
}

// learn takes the native id out of what the agent said, where its open didn't
// tell it. The last one counts.
func (r *runner) learn() {
	if r.agent.native == "" {
		return
	}
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	for _, e := range r.host.events {
		raw, _ := e["raw"].(object)
		if id, _ := raw[r.agent.native].(string); id != "" {
			r.native = id
		}
	}
}

func handshake(ctx context.Context, r *runner) error {
	if err := r.open(ctx, ""); err != nil {
		return err
	}
	if r.session == "" {
		return errors.New("the open gave no session id")
	}
	return nil
}

func textTurn(ctx context.Context, r *runner) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	result, said, err := r.turn(ctx, "SCENARIO=text Say hello.")
	if err != nil {
		return err
	}
	if result["stopReason"] != "end_turn" || !strings.Contains(said, "Turns seen:") {
		return fmt.Errorf("stop %v, suspect %v, text %q", result["stopReason"], result["suspect"], said)
	}
	return nil
}

// tool runs one tool turn and returns whether its command ran.
func (r *runner) tool(ctx context.Context, kind, file string) (ran bool, err error) {
	if err := r.ready(ctx); err != nil {
		return false, err
	}
	path := filepath.Join(r.place.cwd, file)
	os.Remove(path)
	r.host.mu.Lock()
	r.host.asked = nil
	r.host.answer = func(options [][]any) string {
		for _, o := range options {
			if len(o) == 3 && o[2] == kind {
				return fmt.Sprint(o[0])
			}
		}
		return ""
	}
	r.host.mu.Unlock()
	_, _, err = r.turn(ctx, "SCENARIO=tool CMD=echo hello-from-tool > "+file+r.agent.suffix)
	if err != nil {
		return false, err
	}
	if len(r.host.asked) == 0 {
		return false, errors.New("the agent never asked")
	}
	_, err = os.Stat(path)
	return err == nil, nil
}

func toolAllowed(ctx context.Context, r *runner) error {
	ran, err := r.tool(ctx, "allow_once", "allowed.txt")
	if err == nil && !ran {
		err = errors.New("allowed, but the command didn't run")
	}
	return err
}

func toolRejected(ctx context.Context, r *runner) error {
	ran, err := r.tool(ctx, "reject_once", "rejected.txt")
	if err == nil && ran {
		err = errors.New("rejected, but the command ran")
	}
	return err
}

func cancelTurn(ctx context.Context, r *runner) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	pending := r.prompt("SCENARIO=slow")
	if err := r.host.until(ctx, func(e object) bool { return true }); err != nil {
		return err
	}
	r.host.speaks(ctx)
	if _, err := r.host.call(ctx, "session/cancel", object{"sessionId": r.session}); err != nil {
		return err
	}
	result, err := r.host.wait(ctx, pending)
	if err != nil {
		return err
	}
	if result["stopReason"] != "cancelled" {
		return fmt.Errorf("stop %v after a cancel", result["stopReason"])
	}
	return nil
}

// modelError wants to be told: by an error or by a suspect, never by a
// plain success.
func modelError(ctx context.Context, r *runner) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	result, said, err := r.turn(ctx, "SCENARIO=err400")
	var remote *remoteError
	if errors.As(err, &remote) {
		return nil
	}
	if err != nil {
		return err
	}
	if result["stopReason"] == "end_turn" && result["suspect"] == nil {
		return fmt.Errorf("a model error passed for an answer: %q", said)
	}
	return nil
}

// endOfInput closes stdin; nothing of the agent may be left.
func endOfInput(ctx context.Context, r *runner) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	return r.finish()
}

func (r *runner) finish() error {
	err := r.host.end(30 * time.Second)
	r.host, r.session = nil, ""
	if err != nil {
		return err
	}
	if left := others(); len(left) > 0 {
		return fmt.Errorf("left behind: %s", strings.Join(left, "; "))
	}
	return nil
}

func resumed(ctx context.Context, r *runner) error {
	if r.native == "" {
		return errors.New("no native session id to resume")
	}
	if minute := time.Now().Minute(); r.agent.newMinute {
		if err := waitFor(ctx, func() bool { return time.Now().Minute() != minute }); err != nil {
			return err
		}
	}
	if err := r.open(ctx, r.native); err != nil {
		return err
	}
	_, said, err := r.turn(ctx, "SCENARIO=text again")
	if err != nil {
		return err
	}
	// A history that is told again may stand before the answer.
	if answer := said[max(0, strings.LastIndex(said, "Turns seen:")):]; strings.Contains(answer, "Turns seen: 1.") {
		return fmt.Errorf("the resumed session remembers nothing: %q", said)
	}
	return r.finish()
}

// endMidTurn closes stdin while a tool of the agent runs.
func endMidTurn(ctx context.Context, r *runner) error {
	if err := r.open(ctx, ""); err != nil {
		return err
	}
	r.host.answer = func(options [][]any) string {
		for _, o := range options {
			if len(o) == 3 && o[2] == "allow_once" {
				return fmt.Sprint(o[0])
			}
		}
		return ""
	}
	r.prompt("SCENARIO=slowtool2" + r.agent.suffix)
	if err := waitFor(ctx, func() bool { return commandRuns("time.sleep(60)") }); err != nil {
		return fmt.Errorf("the tool never started: %w", err)
	}
	return r.finish()
}
