package proc

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of sys/proc.h.
const zombieState = 5

func readTable() ([]entry, error) {
	rows, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	table := make([]entry, len(rows))
	for i := range rows {
		table[i] = entryOf(&rows[i])
	}
	return table, nil
}

func readEntry(pid int) (entry, bool) {
	row, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(row.Proc.P_pid) != pid {
		return entry{}, false
	}
	return entryOf(row), true
}

// entryOf leaves the session out: the kernel only tells its address.
func entryOf(row *unix.KinfoProc) entry {
	name, _, _ := bytes.Cut(row.Proc.P_comm[:], []byte{0})
	start := row.Proc.P_starttime
	return entry{
		pid:    int(row.Proc.P_pid),
		ppid:   int(row.Eproc.Ppid),
		group:  int(row.Eproc.Pgid),
		start:  uint64(start.Sec)*1_000_000 + uint64(start.Usec),
		zombie: row.Proc.P_stat == zombieState,
		name:   string(name),
	}
}
