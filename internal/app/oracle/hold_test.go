//go:build unix

package oracle

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// What must hold with real processes, whatever they do.

// start runs a sidecar for a test.
func start(t *testing.T, home string, args ...string) *sidecar {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := startSidecar(self, home, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

func (s *sidecar) send(t *testing.T, id, method, params string) {
	t.Helper()
	if _, err := fmt.Fprintf(s.in, `{"id":%q,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
		t.Fatal(err)
	}
}

// answer waits for the answer to id and returns it with the text of all
// chunks before it.
func (s *sidecar) answer(t *testing.T, id string) (answer object, text string) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				t.Fatalf("the output ended; stderr: %s", s.stderr.String())
			}
			var m object
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			if m["id"] == id {
				return m, text
			}
			if m["method"] == "session/event" {
				chunk, _ := at(m, "params", "event", "text").(string)
				text += chunk
			}
		case <-late:
			t.Fatalf("no answer to %s", id)
		}
	}
}

// open opens a session; lane and command as JSON.
func (s *sidecar) open(t *testing.T, lane, program string, args ...string) string {
	t.Helper()
	s.send(t, "open", "session/open", openParams(t, lane, program, args))
	m, _ := s.answer(t, "open")
	if m["result"] == nil {
		t.Fatalf("open answered %v", m)
	}
	return at(m, "result", "sessionId").(string)
}

func openParams(t *testing.T, lane, program string, args []string) string {
	t.Helper()
	b, err := json.Marshal(object{"cwd": "/", "spec": object{"id": "x", "lane": lane, "command": object{"program": program, "args": args}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (s *sidecar) prompt(t *testing.T, session, text string) {
	t.Helper()
	s.send(t, "turn", "session/prompt", fmt.Sprintf(`{"sessionId":%q,"text":%q}`, session, text))
}

func wantError(t *testing.T, m object, code, stage string, retryable, uncertain bool) {
	t.Helper()
	e, _ := m["error"].(object)
	want := object{"code": code, "stage": stage, "retryable": retryable, "uncertainEffect": uncertain}
	if got, _ := e["data"].(object); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", m, want)
	}
}

func TestAgentThatGoesMidTurn(t *testing.T) {
	for word, detail := range map[string]string{"suicide": "SIGKILL", "leave": "0"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir())
			id := s.open(t, "acp", s.names.self, "fake-agent", "updates")
			s.prompt(t, id, word)
			m, text := s.answer(t, "turn")
			wantError(t, m, "agent_protocol_failed", "session/prompt", true, true)
			if message := at(m, "error", "message").(string); !strings.Contains(message, detail) {
				t.Errorf("the message is %q, without %q", message, detail)
			}
			if text != "partial" {
				t.Errorf("text %q", text)
			}
			s.prompt(t, id, "again")
			m, _ = s.answer(t, "turn")
			wantError(t, m, "agent_protocol_failed", "session/prompt", true, true)
		})
	}
}

func TestAgentThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "--connect-timeout", "300ms")
	s.send(t, "open", "session/open", openParams(t, "acp", "/bin/sh", []string{"-c", "sleep 600"}))
	m, _ := s.answer(t, "open")
	wantError(t, m, "agent_protocol_failed", "initialize", true, true)
}

func TestStderrWithoutALineEnd(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	id := s.open(t, "cli", "/bin/sh", "-c", "head -c 1048576 /dev/zero | tr '\\0' x >&2; echo said; exit 3")
	s.prompt(t, id, "x")
	m, text := s.answer(t, "turn")
	if at(m, "result", "exitCode") != 3.0 || at(m, "result", "stopReason") != "error" || text != "said\n" {
		t.Errorf("got %v after %q", m, text)
	}
}

// stubborn is an agent with descendants that ignore every polite end: one in
// a session of its own, one whose parent is gone. It prints their pids.
const stubborn = `trap '' TERM INT HUP
setsid sh -c 'trap "" TERM INT HUP; echo $$; while :; do sleep 1; done' &
(sh -c 'trap "" TERM INT HUP; echo $$; while :; do sleep 1; done' &)
echo $$
while :; do sleep 1; done`

// stubbornPIDs starts a turn of a stubborn agent and returns the pids.
func (s *sidecar) stubbornPIDs(t *testing.T) []int {
	t.Helper()
	id := s.open(t, "cli", "/bin/sh", "-c", stubborn)
	s.prompt(t, id, "x")
	var text string
	for strings.Count(text, "\n") < 3 {
		select {
		case line := <-s.lines:
			var m object
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			if m["method"] != "session/event" {
				t.Fatalf("got %s", line)
			}
			text += at(m, "params", "event", "text").(string)
		case <-time.After(patience):
			t.Fatal("the agent prints nothing")
		}
	}
	var pids []int
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		pid, err := strconv.Atoi(sc.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	s.send(t, "close", "session/close", fmt.Sprintf(`{"sessionId":%q}`, "nothing"))
	s.answer(t, "close")
	s.session = id
	return pids
}

func wantGone(t *testing.T, pids []int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				left = pid
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is left", left)
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	ends := map[string]func(t *testing.T, s *sidecar){
		"close": func(t *testing.T, s *sidecar) {
			s.send(t, "end", "session/close", fmt.Sprintf(`{"sessionId":%q}`, s.session))
			if m, _ := s.answer(t, "end"); m["result"] == nil {
				t.Errorf("close answered %v", m)
			}
		},
		"EOF":     func(_ *testing.T, s *sidecar) { _ = s.in.Close() },
		"SIGTERM": func(_ *testing.T, s *sidecar) { _ = s.cmd.Process.Signal(syscall.SIGTERM) },
		"closed output": func(t *testing.T, s *sidecar) {
			_ = s.out.Close()
			_, _ = fmt.Fprintln(s.in, `{"id":1,"method":"ping"}`)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir())
			pids := s.stubbornPIDs(t)
			end(t, s)
			if name == "close" {
				wantGone(t, pids)
				return
			}
			if code := s.wait(); code != "0" {
				t.Errorf("exit %s", code)
			}
			wantGone(t, pids)
		})
	}
}

// A sidecar that was killed leaves its agents; the next one ends them.
func TestNextStartEndsWhatAKilledSidecarLeft(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := start(t, home)
	pids := s.stubbornPIDs(t)
	_ = s.cmd.Process.Kill()
	s.wait()
	next := start(t, home)
	next.send(t, "p", "ping", "null")
	next.answer(t, "p")
	wantGone(t, pids)
}

// Every request that was read before a signal is answered.
func TestSignalAnswersWhatWasRead(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	id := s.open(t, "acp", s.names.self, "fixture-agent")
	s.prompt(t, id, "wait-for-cancel")
	s.send(t, "ping", "ping", "null")
	s.answer(t, "ping")
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	m, _ := s.answer(t, "turn")
	wantError(t, m, "agent_session_closed", "session/prompt", false, true)
	if code := s.wait(); code != "0" {
		t.Errorf("exit %s", code)
	}
}

// A preset's id is a whole spec, and what its agent says can be recorded.
func TestPresetAndRecording(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "recordings")
	s := start(t, t.TempDir(), "--record", dir)
	s.send(t, "open", "session/open", `{"spec":{"id":"fixture"},"events":"full"}`)
	m, _ := s.answer(t, "open")
	id, _ := at(m, "result", "sessionId").(string)
	s.prompt(t, id, "hello")
	if m, text := s.answer(t, "turn"); text != "echo: hello" {
		t.Errorf("got %q and %v", text, m)
	}
	_ = s.in.Close()
	if code := s.wait(); code != "0" {
		t.Errorf("exit %s", code)
	}
	files, err := filepath.Glob(filepath.Join(dir, "001-*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings: %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"note":"start"`, `"dir":">","msg":{"jsonrpc":"2.0","id":1,"method":"initialize"`, `"dir":"<","msg":`, `"text":" hello"`, `"note":"end"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the recording has no %s:\n%s", want, data)
		}
	}
}
