//go:build !unix

package buffer

import "syscall"

func errnoName(no syscall.Errno) string { return no.Error() }
