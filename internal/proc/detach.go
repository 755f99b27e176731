package proc

import (
	"io"
	"os"
	"os/exec"
)

// StartDetached starts a program that outlives us: a session of its own, no
// input, nothing on stderr. It returns the reading end of its stdout, which
// the caller closes. The program isn't waited for.
func StartDetached(program string, args, env []string) (io.ReadCloser, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdout, cmd.SysProcAttr = env, w, detachedAttr()
	if err := cmd.Start(); err != nil {
		r.Close()
		return nil, err
	}
	return r, cmd.Process.Release()
}
