//go:build unix

package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

func writableAt(dir *os.File, p *Place) bool {
	return unix.Faccessat(int(dir.Fd()), p.Name, unix.W_OK, 0) == nil
}
