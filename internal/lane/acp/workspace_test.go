package acp

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/internal/lane"
)

// files is a workspace of one file and one terminal.
type files struct{ calls []string }

func (w *files) ReadTextFile(_ context.Context, path string, line, limit int) (string, error) {
	if path != "/a" {
		return "", &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	if line != 2 || limit != 3 {
		return "", errors.New("wrong lines")
	}
	return "text", nil
}

func (w *files) WriteTextFile(_ context.Context, path, content string) error {
	w.calls = append(w.calls, path+"="+content)
	return nil
}

func (w *files) CreateTerminal(_ context.Context, c lane.TerminalCommand) (string, error) {
	w.calls = append(w.calls, c.Command+" "+strings.Join(c.Args, " ")+" in "+c.Cwd+" K="+c.Env["K"])
	return "t1", nil
}

func (w *files) TerminalOutput(_ context.Context, id string) (lane.TerminalOutput, error) {
	return lane.TerminalOutput{Output: "out of " + id, Truncated: true, Exit: &lane.ExitStatus{Code: 3}}, nil
}

func (w *files) WaitTerminal(context.Context, string) (lane.ExitStatus, error) {
	return lane.ExitStatus{Code: -1, Signal: "SIGKILL"}, nil
}

func (w *files) KillTerminal(_ context.Context, id string) error {
	w.calls = append(w.calls, "kill "+id)
	return nil
}

func (w *files) ReleaseTerminal(_ context.Context, id string) error {
	w.calls = append(w.calls, "release "+id)
	return nil
}

// What the workspace serves, and that it is announced.
func TestWorkspace(t *testing.T) {
	tests := []struct{ method, params, want, call string }{
		{"fs/read_text_file", `{"path":"/a","line":2,"limit":3}`, `{"content":"text"}`, ""},
		{"fs/read_text_file", `{"path":"/b"}`, `-32002`, ""},
		{"fs/read_text_file", `{}`, `-32602`, ""},
		{"fs/write_text_file", `{"path":"/a","content":"c"}`, `{}`, "/a=c"},
		{"terminal/create", `{"command":"ls","args":["-l"],"cwd":"/d","env":[{"name":"K","value":"v"}]}`, `{"terminalId":"t1"}`, "ls -l in /d K=v"},
		{"terminal/output", `{"terminalId":"t1"}`, `{"output":"out of t1","truncated":true,"exitStatus":{"exitCode":3,"signal":null}}`, ""},
		{"terminal/wait_for_exit", `{"terminalId":"t1"}`, `{"exitCode":null,"signal":"SIGKILL"}`, ""},
		{"terminal/kill", `{"terminalId":"t1"}`, `{}`, "kill t1"},
		{"terminal/release", `{"terminalId":"t1"}`, `{}`, "release t1"},
		{"elicitation/create", `{}`, `{"action":"decline"}`, ""},
		{"craft/drainMidTurnQueue", `{}`, `-32601`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &files{}
				var answer rpcMessage
				s := open(t, how{
					launch: func(l *lane.Launch) { l.Workspace = w },
					handle: on("session/prompt", func(f *fake, m rpcMessage) {
						f.request(tt.method, tt.params, func(a rpcMessage) {
							answer = a
							f.result(m.ID, `{"stopReason":"end_turn"}`)
						})
					}),
				})
				defer s.close()
				if _, err := s.prompt(1, "x"); err != nil {
					t.Fatal(err)
				}
				if got := string(answer.Result) + string(answer.Error); got != tt.want && !strings.Contains(string(answer.Error), tt.want) {
					t.Errorf("answer %s, want %s", got, tt.want)
				}
				if tt.call != "" && (len(w.calls) != 1 || w.calls[0] != tt.call) {
					t.Errorf("calls %v, want %s", w.calls, tt.call)
				}
				if len(s.sent.with(`"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true`)) != 1 {
					t.Error("the workspace wasn't announced")
				}
			})
		})
	}
}
