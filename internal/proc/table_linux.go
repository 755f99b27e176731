package proc

import (
	"bytes"
	"os"
	"strconv"
)

// readTable reads /proc. Processes that come and go meanwhile may or may not
// be in it.
func readTable() ([]entry, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	table := make([]entry, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if e, ok := readEntry(pid); ok {
				table = append(table, e)
			}
		}
	}
	return table, nil
}

func readEntry(pid int) (entry, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	return parseStat(stat)
}

// Fields of /proc/PID/stat after the name, counted from the state.
const (
	statState   = 0
	statParent  = 1
	statGroup   = 2
	statSession = 3
	statThreads = 17
	statStart   = 19
)

// parseStat reads a line of /proc/PID/stat. The name stands in parentheses
// and may itself hold blanks and parentheses, so the last one counts.
func parseStat(stat []byte) (entry, bool) {
	left, right := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if left < 1 || right < left {
		return entry{}, false
	}
	fields := bytes.Fields(stat[right+1:])
	if len(fields) <= statStart || len(fields[statState]) != 1 {
		return entry{}, false
	}
	ok := true
	number := func(field []byte) int {
		n, err := strconv.Atoi(string(field))
		ok = ok && err == nil
		return n
	}
	e := entry{
		pid:     number(bytes.TrimSpace(stat[:left])),
		ppid:    number(fields[statParent]),
		group:   number(fields[statGroup]),
		session: number(fields[statSession]),
		name:    string(stat[left+1 : right]),
	}
	threads := number(fields[statThreads])
	start, err := strconv.ParseUint(string(fields[statStart]), 10, 64)
	e.start = start
	switch fields[statState][0] {
	case 'Z', 'X', 'x':
		// A first thread may be gone while others of the process still run.
		e.zombie = threads <= 1
	}
	return e, ok && err == nil
}
