//go:build unix

package host

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the child the leader of a process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(leader *os.Process) { signalGroup(leader, syscall.SIGTERM) }

func killGroup(leader *os.Process) { signalGroup(leader, syscall.SIGKILL) }

func signalGroup(leader *os.Process, sig syscall.Signal) {
	_ = syscall.Kill(-leader.Pid, sig) // fails for a group that is gone already
}
