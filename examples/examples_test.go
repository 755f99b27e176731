// Package examples_test runs the examples in other languages against each
// other and against the Go packages.
package examples_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/envelope/agent"
	"dragoman/envelope/host"
	"dragoman/wire/envelope"
)

// agentVariable makes this test binary the Go agent.
const agentVariable = "EXAMPLES_GO_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(agentVariable) != "" {
		os.Exit(goAgent())
	}
	os.Exit(m.Run())
}

// goAgent offers what the other agents do.
func goAgent() int {
	a := agent.New(agent.Config{Implementation: "example-go 1.0"})
	a.Handle("echo.text", func(_ context.Context, r *agent.Request) ([]byte, error) { return r.Input, nil })
	a.Handle("count.up", func(ctx context.Context, r *agent.Request) ([]byte, error) {
		input := struct{ To, EveryMs int }{To: 3}
		if err := json.Unmarshal(r.Input, &input, json.MatchCaseInsensitiveNames(true)); err != nil {
			return nil, err
		}
		for n := 1; n <= input.To; n++ {
			select {
			case <-time.After(time.Duration(input.EveryMs) * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if err := r.Event("tick", fmt.Appendf(nil, `{"n":%d}`, n)); err != nil {
				return nil, err
			}
		}
		return []byte(`{"counted":true}`), nil
	})
	if a.Serve(context.Background(), os.Stdin, os.Stdout) != nil {
		return 1
	}
	return 0
}

const patience = 60 * time.Second

// buildTypeScript compiles the TypeScript examples and returns the folder of
// the result. It installs the compiler where it is missing.
func buildTypeScript(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("typescript/node_modules/typescript"); err != nil {
		command(t, "typescript", "npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit")
	}
	// Within the folder, so that the result is taken for modules.
	out, err := os.MkdirTemp("typescript", "dist")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(out) })
	if out, err = filepath.Abs(out); err != nil {
		t.Fatal(err)
	}
	command(t, "typescript", "node", "node_modules/typescript/bin/tsc", "--outDir", out)
	return out
}

func command(t *testing.T, dir string, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// languages are the argvs of every agent and every host by language.
func languages(t *testing.T) (agents, hosts map[string][]string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	compiled := buildTypeScript(t)
	agents = map[string][]string{
		"go":         {self},
		"python":     {"python3", absolute(t, "python/agent.py")},
		"typescript": {"node", filepath.Join(compiled, "agent.js")},
	}
	hosts = map[string][]string{
		"python":     {"python3", absolute(t, "python/host.py")},
		"typescript": {"node", filepath.Join(compiled, "host.js")},
	}
	return agents, hosts
}

func TestEveryHostWithEveryAgent(t *testing.T) {
	agents, hosts := languages(t)
	for agentName, argv := range agents {
		t.Run("go host with "+agentName+" agent", func(t *testing.T) { goHost(t, argv) })
		for hostName, program := range hosts {
			t.Run(hostName+" host with "+agentName+" agent", func(t *testing.T) { otherHost(t, program, argv) })
		}
	}
	for agentName, argv := range agents {
		t.Run(agentName+" agent refuses", func(t *testing.T) { refuses(t, argv) })
	}
}

// goHost runs our host over an example agent.
func goHost(t *testing.T, argv []string) {
	h, err := host.Start(t.Context(), host.Child(host.Command{
		Argv: argv, Dir: t.TempDir(), Env: append(os.Environ(), agentVariable+"=1"), Stderr: os.Stderr,
	}), host.Config{Grants: []string{"echo.text", "count.up", "absent"}, HelloTimeout: patience, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	const input = `{"text":"grüße 🙂"}`
	o, err := h.Request(t.Context(), "echo.text", []byte(input), host.RequestOptions{})
	if err != nil || strings.ReplaceAll(string(o.Output), `": "`, `":"`) != input {
		t.Errorf("echo: got %s and %v", o.Output, err)
	}
	ticks := 0
	o, err = h.Request(t.Context(), "count.up", []byte(`{"to":5}`), host.RequestOptions{OnEvent: func(host.Event) { ticks++ }})
	if err != nil || ticks != 5 || !strings.Contains(string(o.Output), "true") {
		t.Errorf("count: got %d ticks, %s and %v", ticks, o.Output, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = h.Request(ctx, "count.up", []byte(`{"to":100000,"everyMs":5}`), host.RequestOptions{OnEvent: func(host.Event) { cancel() }})
	var failed *host.Error
	if !errors.As(err, &failed) || failed.Code != host.CodeCancelled || failed.UncertainEffect {
		t.Errorf("cancel: got %v", err)
	}
	if _, err = h.Request(t.Context(), "absent", nil, host.RequestOptions{}); !errors.As(err, &failed) || failed.Code != host.CodeUnsupportedCapability {
		t.Errorf("absent: got %v", err)
	}
}

// otherHost runs an example host over an agent.
func otherHost(t *testing.T, program, argv []string) {
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stdout string
	}{
		{"echo", []string{"echo.text", `{"text":"grüße 🙂"}`}, 0, `{"text":"grüße 🙂"}`},
		{"count", []string{"count.up", `{"to":2}`}, 0, `{"counted":true}`},
		{"cancel", []string{"--cancel-after", "2", "count.up", `{"to":100000,"everyMs":5}`}, 3, ""},
		{"absent", []string{"absent", "{}"}, 1, ""},
	} {
		ctx, stop := context.WithTimeout(t.Context(), patience)
		line := append(append(append([]string(nil), program[1:]...), tt.args...), append([]string{"--"}, argv...)...)
		cmd := exec.CommandContext(ctx, program[0], line...)
		cmd.Env = append(os.Environ(), agentVariable+"=1")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		stop()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != tt.status || strings.TrimSpace(stdout.String()) != tt.stdout {
			t.Errorf("%s: %v, stdout %s\nstderr %s", tt.name, err, &stdout, &stderr)
		}
	}
}

// refuses feeds an agent what it must refuse: one error without requestId,
// and exit status 1.
func refuses(t *testing.T, argv []string) {
	const sent = `"sentAt":"2026-12-01T00:00:00Z"`
	hello := `{"protocolVersion":"1.7","kind":"hello","messageId":"h1",` + sent + `,"capabilities":["echo.text"],"future":1}` + "\n"
	for _, tt := range []struct {
		code envelope.Code
		line string
	}{
		{envelope.InvalidJSON, "garbage\n"},
		{envelope.InvalidUTF8, "\xff\n"},
		{envelope.UnsupportedVersion, `{"protocolVersion":"2.0","kind":"request","messageId":"h2",` + sent + `,"requestId":"r1","operation":"echo.text","input":{}}` + "\n"},
		{envelope.UnknownKind, `{"protocolVersion":"1.0","kind":"future","messageId":"h2",` + sent + "}\n"},
		{envelope.InvalidEnvelope, `{"protocolVersion":"1.0","kind":"cancel","messageId":"h2",` + sent + "}\n"},
		{envelope.UnexpectedMessage, hello},
	} {
		ctx, stop := context.WithTimeout(t.Context(), patience)
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), agentVariable+"=1")
		cmd.Stdin = strings.NewReader(hello + strings.Replace(tt.line, `"h1"`, `"h2"`, 1))
		out, err := cmd.Output()
		stop()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		last, decodeErr := envelope.NewDecoder(envelope.Limits{}).Decode([]byte(lines[len(lines)-1]))
		if decodeErr != nil || cmd.ProcessState.ExitCode() != 1 || last.Kind != envelope.ErrorKind || last.RequestID != "" || last.Code != string(tt.code) {
			t.Errorf("%s: %v, %v\n%s", tt.code, err, decodeErr, out)
		}
	}
}
