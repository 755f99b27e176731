package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// knownSpec is the cli spec of a known agent.
func knownSpec(t *testing.T, id string) *agent.Spec {
	t.Helper()
	raw, err := os.ReadFile("../../../wire/agent/testdata/specs.json")
	if err != nil {
		t.Fatal(err)
	}
	var agents map[string][]jsontext.Value
	if err := json.Unmarshal(raw, &agents); err != nil {
		t.Fatal(err)
	}
	for _, raw := range agents[id] {
		if s, err := agent.ParseSpec(raw); err == nil && s.Lane == "cli" {
			return s
		}
	}
	t.Fatalf("no cli spec of %s", id)
	return nil
}

// TestRecorded: the declared specs of Codex and Claude read what the real
// agents print, and continue their sessions.
func TestRecorded(t *testing.T) {
	tests := []struct {
		agent, file   string
		exit          int
		native, text  string
		input         int64
		records       int
		first, second []string // argv
		stdin         string   // stdin, the same in both turns
	}{
		{agent: "codex", file: "codex", native: "01a22df4-51fc-7163-96e2-edcffa21201e", text: "Hello from the mock. Turns seen: 1.", input: 120, records: 5,
			first:  []string{"exec", "--json", "--skip-git-repo-check", "-C", "DIR", "hi"},
			second: []string{"exec", "resume", "01a22df4-51fc-7163-96e2-edcffa21201e", "--json", "--skip-git-repo-check", "hi"}},
		{agent: "claude", file: "claude", native: "7315a9f1-2d72-4e27-9e6a-2df063fa8876", text: "Tool said: eds approval.", input: 200, records: 7,
			first:  []string{"--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages"},
			second: []string{"--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--resume", "7315a9f1-2d72-4e27-9e6a-2df063fa8876"},
			stdin:  `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}` + "\n"},
		{agent: "claude", file: "claude-error", exit: 1, native: "0aa66e51-1951-4adb-9640-a9f10d89a671", text: "API Error: 400 mock error 400", records: 3,
			first:  []string{"--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages"},
			second: []string{"--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--resume", "0aa66e51-1951-4adb-9640-a9f10d89a671"},
			stdin:  `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			said, err := os.ReadFile("testdata/recorded/" + tt.file + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			heard := make(chan string, 2)
			starter := lanetest.PipeStarter(func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
				in, _ := io.ReadAll(p.In)
				heard <- string(in)
				p.Out.Write(said)
				return lane.ExitStatus{Code: tt.exit}
			})
			s, err := openSession(t, knownSpec(t, tt.agent), starter, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, args := range [][]string{tt.first, tt.second} {
				out := s.turn("hi")
				stop := agent.StopEndTurn
				if tt.exit != 0 {
					stop = agent.StopError
				}
				if out.StopReason != stop || !strings.HasPrefix(out.Text, tt.text) || *out.ExitCode != tt.exit || out.Usage == nil || *out.Usage.Input != tt.input {
					t.Errorf("turn %d: %+v", i+1, out)
				}
				if got := s.conn.Info().NativeID; got != tt.native {
					t.Errorf("native id %q, want %q", got, tt.native)
				}
				want := slices.Clone(args)
				if j := slices.Index(want, "DIR"); j >= 0 {
					want[j] = s.dir
				}
				if got := starter.Started()[i].Command.Args; !slices.Equal(got, want) {
					t.Errorf("turn %d: argv %q, want %q", i+1, got, want)
				}
				if got := <-heard; got != tt.stdin {
					t.Errorf("turn %d: stdin %q, want %q", i+1, got, tt.stdin)
				}
			}
			records := 0
			for _, ev := range s.Events() {
				if ev.Kind == agent.KindRaw && ev.Turn == 1 {
					records++
				}
			}
			if records != tt.records {
				t.Errorf("%d records, want %d", records, tt.records)
			}
		})
	}
}
