// Package child runs a program between two pipes and measures it.
package child

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Usage is what a child's run cost.
type Usage struct {
	Wall time.Duration
	CPU  time.Duration // user and system time
	RSS  int64         // peak resident bytes
}

// Self returns the command that runs this program again as a variant.
func Self(variant string) []string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{exe, "-as", variant}
}

// Run starts argv, lets drive talk to it, closes its input, and waits. Wall is
// the time that drive took; at its end the child must still run.
func Run(argv []string, drive func(in io.WriteCloser, out io.Reader) error) (Usage, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return Usage{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Usage{}, err
	}
	if err := cmd.Start(); err != nil {
		return Usage{}, err
	}
	start := time.Now()
	err = drive(in, out)
	u := Usage{Wall: time.Since(start), RSS: peak(cmd.Process.Pid)}
	_ = in.Close()
	_, _ = io.Copy(io.Discard, out)
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w", argv, err)
	}
	s := cmd.ProcessState
	u.CPU = s.UserTime() + s.SystemTime()
	return u, nil
}

// peak reads a process's peak of resident bytes. That of rusage would begin
// with our own, which the child had before its exec.
func peak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// Median is the middle of the values.
func Median[T int64 | float64 | time.Duration](values []T) T {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}
