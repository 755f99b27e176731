package proc

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detachedAttr leaves the console, so that no terminal's signal reaches it.
func detachedAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
