//go:build !unix

package host

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups here, so that the child
// alone is ended.
func ownGroup(*exec.Cmd) {}

func terminateGroup(leader *os.Process) { _ = leader.Kill() } // there is no gentler way

func killGroup(leader *os.Process) { _ = leader.Kill() }
