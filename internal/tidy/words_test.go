package tidy

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoFileNamesThisMachine keeps paths of a workplace and hosts of
// registries out of what is committed. The needles are joined from parts so
// that this file doesn't find itself.
func TestNoFileNamesThisMachine(t *testing.T) {
	needles := []string{
		"/work" + "/main", "/work" + "/shared", ".." + "/shared",
		"registry" + ".npmjs", "proxy" + ".golang", "files" + ".pythonhosted", "static" + ".crates",
	}
	args := []string{"grep", "-I", "-n", "-F"}
	for _, n := range needles {
		args = append(args, "-e", n)
	}
	args = append(args, "--", ".", ":!*.sum")
	cmd := exec.Command("git", args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 {
		return // nothing found
	}
	if err != nil {
		t.Fatalf("git grep: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		t.Errorf("names a machine or a registry: %.200s", line)
	}
}
