package ndjson

import (
	"runtime"
	"syscall"
)

// reserve maps n bytes that cost memory only where they are touched, off the
// heap, so that a large line costs its own size and no collector's slack. They
// live as long as owner. It returns nil where that isn't possible.
func reserve(owner *Reader, n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	runtime.AddCleanup(owner, func(b []byte) { _ = syscall.Munmap(b) }, b)
	return b
}

// forget gives the pages' memory back; their content is zero from now on.
func forget(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) }
