//go:build unix

package main

import "syscall"

// reap takes the exits of orphans: the inner process is the first of its
// namespace, so they are its children.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
