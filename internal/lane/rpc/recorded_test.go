package rpc

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recorded is one line of a session with a real agent, trimmed: what a client
// sent ('>') or the agent ('<').
type recorded struct {
	Dir string         `json:"dir"`
	Msg jsontext.Value `json:"msg"`
}

func readRecording(t *testing.T, name string) []recorded {
	t.Helper()
	file, err := os.ReadFile("testdata/recorded/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	for line := range bytes.Lines(file) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// head is what identifies a recorded message.
type head struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Type   string         `json:"type"`
}

func headOf(line []byte) (h head, name string) {
	json.Unmarshal(line, &h)
	if h.Method == "" {
		return h, h.Type
	}
	return h, h.Method
}

// replay is an agent that answers as the recorded one did: each message of
// ours is found in the recording by its method, and what the agent said until
// the client's next message follows, with our ids.
func replay(t *testing.T, list []recorded) lanetest.Program {
	return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		ids := map[string]jsontext.Value{}
		in := bufio.NewScanner(p.In)
		in.Buffer(nil, 1<<20)
		for at := 0; in.Scan(); {
			ours, name := headOf(in.Bytes())
			for ; at < len(list); at++ {
				theirs, n := headOf(list[at].Msg)
				if list[at].Dir == ">" && n == name {
					ids[string(theirs.ID)] = ours.ID.Clone()
					break
				}
			}
			if at == len(list) {
				t.Errorf("%s isn't in the recording", in.Text())
				return lane.ExitStatus{Code: 1}
			}
			for at++; at < len(list) && list[at].Dir == "<"; at++ {
				theirs, _ := headOf(list[at].Msg)
				line := string(list[at].Msg)
				if id := ids[string(theirs.ID)]; theirs.ID != nil && id != nil {
					line = strings.Replace(line, `"id":`+string(theirs.ID), `"id":`+string(id), 1)
				} else if theirs.ID != nil {
					continue // a reply to what we sent as a notification
				}
				io.WriteString(p.Out, line+"\n")
			}
		}
		return lane.ExitStatus{}
	}
}

// knownSpec is the rpc spec of a known agent.
func knownSpec(t *testing.T, id string) obj {
	t.Helper()
	raw, err := os.ReadFile("../../../wire/agent/testdata/specs.json")
	if err != nil {
		t.Fatal(err)
	}
	var agents map[string][]obj
	if err := json.Unmarshal(raw, &agents); err != nil {
		t.Fatal(err)
	}
	for _, spec := range agents[id] {
		if spec["lane"] == "rpc" {
			return spec
		}
	}
	t.Fatalf("no rpc spec of %s", id)
	return nil
}

// TestRecorded: the declared specs of pi and Codex drive the real agents'
// dialects.
func TestRecorded(t *testing.T) {
	const hello = "Hello from the mock. Turns seen: "
	type end struct{ stop, text, code string }
	tests := []struct {
		name   string
		native string
		cancel bool // the first turn
		turns  []end
		input  int64 // of the last turn's usage
	}{
		{"pi-text", "01a22e04-30c6-700b-b07b-262eeb1becea", false, []end{{agent.StopEndTurn, hello + "1.", ""}, {agent.StopEndTurn, hello + "2.", ""}}, 100},
		{"pi-tool", "01a22e04", false, []end{{agent.StopEndTurn, "", ""}, {agent.StopEndTurn, hello, ""}}, 100},
		{"pi-cancel", "01a22e04", true, []end{{agent.StopEndTurn, "", ""}, {agent.StopEndTurn, hello, ""}}, 100},
		{"pi-error", "01a22e04", false, []end{{code: agent.CodeTurnFailed}, {agent.StopEndTurn, hello, ""}}, 100},
		{"codex-text", "01a22e28-b72e-7da1-8ef4-80f5f3d4ea68", false, []end{{"completed", hello + "1.", ""}, {"completed", hello + "2.", ""}}, 0},
		{"codex-cancel", "", true, []end{{"interrupted", "", ""}, {"completed", hello, ""}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := readRecording(t, tt.name)
			id, _, _ := strings.Cut(tt.name, "-")
			spec := knownSpec(t, id)
			synctest.Test(t, func(t *testing.T) {
				s, err := tryOpen(t, spec, replay(t, list), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.close()
				if got := s.conn.Info().NativeID; tt.native != "" && got != tt.native {
					t.Errorf("native id %q, want %q", got, tt.native)
				}
				for i, want := range tt.turns {
					cancel := make(chan struct{})
					if i == 0 && tt.cancel {
						time.AfterFunc(time.Second, func() { close(cancel) })
					}
					out, err := s.promptWith("hi", agent.Options{}, cancel)
					if want.code != "" {
						wantError(t, err, want.code, agent.StagePrompt, agent.FlagsRetry)
						continue
					}
					if err != nil || out.StopReason != want.stop || !strings.HasPrefix(out.Text, want.text) || out.Text != s.Text(uint64(i+1)) {
						t.Errorf("turn %d: %+v, %v; want %+v, chunks %q", i+1, out, err, want, s.Text(uint64(i+1)))
					}
					if i == len(tt.turns)-1 && tt.input > 0 && (out.Usage == nil || *out.Usage.Input != tt.input) {
						t.Errorf("usage %+v", out.Usage)
					}
				}
			})
		})
	}
}
