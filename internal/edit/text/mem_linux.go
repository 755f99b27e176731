package text

import "golang.org/x/sys/unix"

// adviseHuge asks for large pages: fewer faults while loading and fewer misses
// at random edits. It is only a hint.
func adviseHuge(b []byte) {
	if len(b) >= 4<<20 {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}
