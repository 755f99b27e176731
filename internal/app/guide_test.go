package app_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCoreGuide pastes the shell blocks of docs/guide/core.md into a shell,
// and finds what they promise in what is printed, in that order; "…" stands
// for anything in a line.
func TestCoreGuide(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../docs/guide/core.md")
	if err != nil {
		t.Fatal(err)
	}
	script, promised := pasted(string(raw))
	if len(promised) < 10 {
		t.Fatalf("the guide promises only %q", promised)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	t.Cleanup(func() {
		// A guide that broke off leaves its core.
		end := exec.Command("dragoman", "call", "--root", filepath.Join(dir, "demo"), "session.shutdown", `{"force":true}`)
		end.Env = cmd.Env
		_ = end.Run()
	})
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("the shell: %v", err)
	}
	lines := strings.Split(string(out), "\n")
	for _, want := range promised {
		for len(lines) > 0 && !contains(lines[0], want) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			t.Fatalf("nothing like %q where it should be in\n%s", want, out)
		}
		lines = lines[1:]
	}
}

// pasted gives the commands of a guide's sh blocks, and what is said to be
// printed.
func pasted(guide string) (script string, promised []string) {
	inside := false
	for line := range strings.Lines(guide) {
		want, isPromise := strings.CutPrefix(strings.TrimSpace(line), "#=> ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.TrimSpace(line) == "```sh"
		case inside && isPromise:
			promised = append(promised, want)
		case inside:
			script += line
		}
	}
	return script, promised
}

// contains tells whether a line has all parts of a promise, in order.
func contains(line, want string) bool {
	for part := range strings.SplitSeq(want, "…") {
		_, rest, found := strings.Cut(line, part)
		if !found {
			return false
		}
		line = rest
	}
	return true
}
