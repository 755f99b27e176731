package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// whereabouts: macOS has one pid namespace; the time of the boot names it.
func whereabouts() (place, error) {
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return place{}, err
	}
	return place{boot: fmt.Sprint(boot.Sec), namespace: "one"}, nil
}
