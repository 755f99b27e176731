//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// shell opens a session whose agent is a script.
func shell(t *testing.T, script string, m members) *session {
	t.Helper()
	s, err := openSession(t, specOf(t, "/bin/sh", []string{"-c", script, "sh"}, m), processes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProcess(t *testing.T) {
	tests := []struct {
		name, script string
		spec         members
		text, stop   string
		code         int // -1 for none
	}{
		{name: "stdin", script: "cat", text: "hi\n", stop: agent.StopEndTurn},
		{name: "stdin is null", script: "cat; echo $1", spec: members{"args": []string{"{prompt}"}}, text: "hi\n", stop: agent.StopEndTurn},
		{name: "split characters", script: `printf 'a\303'; sleep 0.1; printf '\251b\377c'`, text: "aéb\ufffdc", stop: agent.StopEndTurn},
		{name: "exit status", script: "echo out; exit 3", text: "out\n", stop: agent.StopError, code: 3},
		{name: "a signal", script: "echo out; kill -9 $$", text: "out\n", stop: agent.StopError, code: -1},
		{name: "a child that doesn't read", script: "exec <&-; echo out", text: "out\n", stop: agent.StopEndTurn},
		{name: "a terminal", script: "stty size < /dev/stdout; test -t 0 && echo in; test -t 2 || echo err-is-pipe",
			spec: members{"stream": "pty"}, text: "30 120\nin\nerr-is-pipe\n", stop: agent.StopEndTurn},
		{name: "a prompt on a terminal", script: "read line; echo got $line", spec: members{"stream": "pty"},
			text: "got hi\n", stop: agent.StopEndTurn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := shell(t, tt.script, tt.spec)
			out := s.turn("hi")
			code := -1
			if out.ExitCode != nil {
				code = *out.ExitCode
			}
			if out.Text != tt.text || out.StopReason != tt.stop || code != tt.code || out.Truncated || out.Usage != nil {
				t.Errorf("outcome %+v, code %d; want %q, %s, %d", out, code, tt.text, tt.stop, tt.code)
			}
			if got := s.Text(1); got != tt.text {
				t.Errorf("chunks %q, want %q", got, tt.text)
			}
		})
	}
}

func TestQuota(t *testing.T) {
	for script, uncertain := range map[string]bool{
		"echo 'rate limit reached' >&2; exit 1":            false,
		"echo some; echo 'rate limit reached' >&2; exit 1": true,
		"echo 'You hit the USAGE LIMIT'; exit 1":           true,
	} {
		s := shell(t, script, nil)
		_, err := s.prompt("hi", agent.Options{})
		var e *agent.Error
		if !errors.As(err, &e) || e.Code != agent.CodeQuotaExhausted || e.Stage != stageTurn || !e.Retryable || e.UncertainEffect != uncertain {
			t.Errorf("%s: error %+v, want a quota, uncertain %v", script, err, uncertain)
			continue
		}
		if !strings.Contains(e.Detail, "code 1") {
			t.Errorf("detail %q lacks the exit status", e.Detail)
		}
		if _, err := s.prompt("hi", agent.Options{}); !errors.As(err, &e) || e.Code != agent.CodeQuotaExhausted {
			t.Errorf("the turn after a quota: %v", err)
		}
	}
	if out := shell(t, "echo quota", nil).turn("hi"); out.StopReason != agent.StopEndTurn {
		t.Errorf("a quota text of an agent that succeeded: %+v", out)
	}
}

func TestBinding(t *testing.T) {
	s := shell(t, `echo '{"session_id":"S9"}'; printf '{"a":"%s"}\n' "$*"`, members{
		"args": []string{"go"}, "jsonLines": true, "sessionIdPath": "session_id", "resumeArgs": []string{"-r", "{sessionId}"}})
	if got := s.conn.Info(); got.NativeID != "" || !got.Capabilities.SessionResume {
		t.Errorf("info %+v before the first turn", got)
	}
	s.turn("hi")
	if got := s.conn.Info().NativeID; got != "S9" || s.Changes() != 1 {
		t.Errorf("native id %q after %d changes", got, s.Changes())
	}
	if out := s.turn("hi"); !strings.Contains(out.Text, "go -r S9") {
		t.Errorf("the second turn said %q", out.Text)
	}
}

func TestOpenArgs(t *testing.T) {
	open := members{"openArgs": []string{"create", "{cwd}", "[{prompt}]", "{model}"}, "resumeArgs": []string{"-r", "{sessionId}"}}
	tests := []struct {
		name, script string
		id           string
		code, stage  string
	}{
		{name: "an id", script: `printf '\n \n  NEW ID %s%s%s  \nmore\n' "$1" "$3" "$#"`, id: "NEW ID create[]3"},
		{name: "it fails", script: "echo no >&2; exit 4", code: agent.CodeSessionOpenFailed, stage: stageOpen},
		{name: "no id", script: "echo; echo ' '", code: agent.CodeSessionIDMissing, stage: stageOpen},
		{name: "too large", script: "head -c 100000 /dev/zero | tr '\\0' x", code: agent.CodeSessionIDTooLarge, stage: stageOpen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := openSession(t, specOf(t, "/bin/sh", []string{"-c", tt.script, "sh"}, open), processes, nil)
			wantError(t, err, tt.code, tt.stage)
			if err == nil && s.conn.Info().NativeID != tt.id {
				t.Errorf("native id %q, want %q", s.conn.Info().NativeID, tt.id)
			}
		})
	}
	t.Run("a missing program shows at open", func(t *testing.T) {
		_, err := openSession(t, specOf(t, "/nonexistent/x", nil, open), processes, nil)
		wantError(t, err, agent.CodeProcessStartFailed, agent.StageProcessStart)
	})
	t.Run("not with a binding", func(t *testing.T) {
		s, err := openSession(t, specOf(t, "/nonexistent/x", nil, open), processes, func(l *lane.Launch) { l.Resume = "R" })
		if err != nil || s.conn.Info().NativeID != "R" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("it hangs", func(t *testing.T) {
		_, err := openSession(t, specOf(t, "/bin/sh", []string{"-c", "sleep 60"}, open), processes, func(l *lane.Launch) { l.OpenTimeout = 100 * time.Millisecond })
		wantError(t, err, agent.CodeSessionOpenFailed, stageOpen)
	})
}

func TestTurnOptions(t *testing.T) {
	s, err := openSession(t, specOf(t, "/bin/sh", []string{"-c", `printf '%s|' "$@"`, "sh"}, members{"args": []string{"{model}", "{mode}"}}), processes,
		func(l *lane.Launch) { l.Options = agent.Options{Model: ptr("open"), Mode: ptr("m")} })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		model *string
		text  string
	}{{nil, "open|m|"}, {ptr("turn"), "turn|m|"}, {nil, "open|m|"}} {
		if out, err := s.prompt("hi", agent.Options{Model: want.model}); err != nil || out.Text != want.text {
			t.Errorf("%q, %v; want %q", out.Text, err, want.text)
		}
	}
}

func TestConfigure(t *testing.T) {
	s, err := openSession(t, specOf(t, "/bin/sh", []string{"-c", `printf '%s|' "$@"`, "sh"}, members{"args": []string{"{model}", "{mode}"}, "executionModes": []string{"m", "n"}}), processes,
		func(l *lane.Launch) { l.Options = agent.Options{Model: ptr("a"), Mode: ptr("m")} })
	if err != nil {
		t.Fatal(err)
	}
	configure := func(o agent.Options, config map[string][]byte) error {
		return s.conn.(lane.Configurer).Configure(t.Context(), o, config)
	}
	if err := configure(agent.Options{Mode: ptr("n")}, nil); err != nil {
		t.Error(err)
	}
	wantError(t, configure(agent.Options{Mode: ptr("z")}, nil), agent.CodeModeUnsupported, agent.StageConfiguration)
	wantError(t, configure(agent.Options{Permission: ptr("z")}, nil), agent.CodePermissionUnsupported, agent.StageConfiguration)
	wantError(t, configure(agent.Options{}, map[string][]byte{"x": nil}), agent.CodeConfigurationUnavailable, agent.StageConfiguration)
	if out := s.turn("hi"); out.Text != "a|n|" {
		t.Errorf("text %q", out.Text)
	}
}

// start prompts in the background once the agent has said its first word.
func (s *session) start(text string, cancel <-chan struct{}) <-chan agent.Outcome {
	s.t.Helper()
	s.turns++
	turn, done := s.turns, make(chan agent.Outcome, 1)
	go func() {
		out, err := s.conn.Prompt(context.Background(), lane.Turn{Number: turn, Text: text, Cancel: cancel})
		if err != nil {
			s.t.Errorf("Prompt: %v", err)
		}
		done <- out
	}()
	return done
}

func TestCancelAndClose(t *testing.T) {
	const script = `trap 'echo interrupted; exit 130' INT; (trap '' INT TERM; exec sleep 61) & echo start; wait; wait`
	for _, name := range []string{"cancel", "close"} {
		t.Run(name, func(t *testing.T) {
			s := shell(t, script, nil)
			cancel := make(chan struct{})
			done := s.start("x", cancel)
			ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
			defer stop()
			s.Wait(ctx, func(k *lanetest.Sink) bool { return strings.Contains(k.Text(1), "start\n") })
			want := "start\n"
			if name == "cancel" {
				want += "interrupted\n"
				close(cancel)
			} else if err := s.conn.Close(ctx); err != nil {
				t.Errorf("Close: %v", err)
			}
			out := <-done
			if out.StopReason != agent.StopCancelled || out.ExitCode != nil || out.Text != want {
				t.Errorf("outcome %+v, want cancelled with %q", out, want)
			}
		})
	}
}

func TestReceipt(t *testing.T) {
	both := members{"bindingFileEnv": "RECEIPT", "bindingReceiptShape": receiptIDUsage}
	tests := []struct {
		name, script string
		id           string
		input        int64
		code         string
	}{
		{name: "missing", script: "echo done"},
		{name: "id and usage", script: `printf '{"conversationId":"C1","usage":{"input":1}}' > "$RECEIPT"`, id: "C1", input: 1},
		{name: "in the payload", script: `printf '{"hookPayload":{"session_id":"C2","token_usage":{"input":2}}}' > "$RECEIPT"`, id: "C2", input: 2},
		{name: "in a payload as text", script: `printf '%s' '{"hookPayload":"{\"sessionId\":\"C3\"}"}' > "$RECEIPT"`, id: "C3"},
		{name: "invalid", script: `echo '{' > "$RECEIPT"`, code: agent.CodeReceiptInvalid},
		{name: "a list", script: `echo '[]' > "$RECEIPT"`, code: agent.CodeReceiptInvalid},
		{name: "no id", script: `echo '{"sessionId":""}' > "$RECEIPT"`, code: agent.CodeReceiptSessionIDMissing},
		{name: "a folder", script: `mkdir "$RECEIPT"`, code: agent.CodeReceiptReadFailed},
		{name: "a link", script: `ln -s /etc/hostname "$RECEIPT"`, code: agent.CodeReceiptReadFailed},
		{name: "too large", script: `head -c 1048577 /dev/zero > "$RECEIPT"`, code: agent.CodeReceiptTooLarge},
		{name: "of a turn that failed", script: `echo '{' > "$RECEIPT"; exit 3`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			s := shell(t, tt.script, both)
			out, err := s.prompt("hi", agent.Options{})
			kept, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "dragoman-receipt-*", "receipt.json"))
			if tt.code == "" {
				if err != nil || s.conn.Info().NativeID != tt.id {
					t.Errorf("error %v, native id %q, want %q", err, s.conn.Info().NativeID, tt.id)
				}
				if tt.input > 0 && (out.Usage == nil || *out.Usage.Input != tt.input) {
					t.Errorf("usage %+v, want %d", out.Usage, tt.input)
				}
				if len(kept) != 0 {
					t.Errorf("%q is left", kept)
				}
				return
			}
			var e *agent.Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Stage != stageReceipt || e.Retryable || !e.UncertainEffect {
				t.Fatalf("error %+v, want %s [%s], no/yes", err, tt.code, stageReceipt)
			}
			if len(kept) != 1 || !strings.Contains(e.Detail, kept[0]) {
				t.Errorf("kept %q, detail %q doesn't name it", kept, e.Detail)
			}
			if _, err := s.prompt("hi", agent.Options{}); !errors.As(err, &e) || e.Code != agent.CodeRecoveryRequired || e.Stage != agent.StagePrompt {
				t.Errorf("the next prompt: %v, want recovery required", err)
			}
		})
	}
}

// TestEnvError: an environment that can't be resolved shows at the first
// start.
func TestEnvError(t *testing.T) {
	missing := agent.Fail(agent.CodeEnvSourceUnavailable, agent.StageEnvResolve, "X")
	change := func(l *lane.Launch) { l.EnvError = missing }
	s, err := openSession(t, specOf(t, "/bin/sh", []string{"-c", "cat"}, nil), processes, change)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = s.prompt("hi", agent.Options{})
		wantError(t, err, agent.CodeEnvSourceUnavailable, agent.StageEnvResolve)
	}
	_, err = openSession(t, specOf(t, "/bin/sh", []string{"-c", "cat"}, members{"openArgs": []string{"x"}}), processes, change)
	wantError(t, err, agent.CodeEnvSourceUnavailable, agent.StageEnvResolve)
}

func TestMissingProgram(t *testing.T) {
	s, err := openSession(t, specOf(t, "/nonexistent/x", nil, nil), processes, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.prompt("hi", agent.Options{})
	wantError(t, err, agent.CodeProcessStartFailed, agent.StageProcessStart)
}

func TestResize(t *testing.T) {
	s := shell(t, `echo ready; while [ ! -f go ]; do sleep 0.02; done; stty size < /dev/stdout`, members{"stream": "pty"})
	resize := s.conn.(lane.Resizer).Resize
	if err := resize(100, 40); err != nil {
		t.Errorf("between turns: %v", err)
	}
	done := s.start("x", make(chan struct{}))
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	if !s.Wait(ctx, func(k *lanetest.Sink) bool { return strings.Contains(k.Text(1), "ready\n") }) {
		t.Fatal("the agent isn't ready")
	}
	if err := resize(0, 40); err == nil {
		t.Error("a terminal without columns was accepted")
	}
	if err := resize(100, 40); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := <-done; out.Text != "ready\n40 100\n" {
		t.Errorf("text %q", out.Text)
	}
}
