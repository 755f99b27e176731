//go:build unix

package proc

import "syscall"

// detachedAttr makes a new session, so that no terminal's signal reaches it.
func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
