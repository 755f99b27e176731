//go:build unix

package text

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// newRegion gives n bytes of zeroed memory off the Go heap. A large file on the
// heap would let the collector wait until twice its size is in use.
func newRegion(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	adviseHuge(b)
	return b, nil
}

// releaseWith unmaps region when c is collected.
func releaseWith(c *chunk, region []byte) {
	if len(region) == 0 {
		return
	}
	runtime.AddCleanup(c, freeRegion, region)
}

// freeRegion unmaps region at once; nothing may refer to it any more.
func freeRegion(region []byte) {
	if len(region) > 0 {
		_ = unix.Munmap(region)
	}
}

// trimRegion gives the pages after the first n bytes back to the system.
func trimRegion(region []byte, n int) {
	page := unix.Getpagesize()
	from := (n + page - 1) / page * page
	if from < len(region) {
		_ = unix.Madvise(region[from:], unix.MADV_DONTNEED)
	}
}
