package proc

import (
	"fmt"
	"slices"
)

// An entry is one row of the process table.
type entry struct {
	pid, ppid, group, session int
	// start is when it started, in a unit of the system; with pid it names a
	// process for as long as the system runs.
	start uint64
	// zombie: it has exited and only its entry is left.
	zombie bool
	name   string
}

// Descendants returns the pids of everything alive that descends from pid,
// ascending and without pid itself. An orphan no longer descends from the
// parent of its parent; [Process.Contains] knows those, too.
func Descendants(pid int) ([]int, error) {
	table, err := readTable()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range closure(table, []int{pid}) {
		if !e.zombie {
			pids = append(pids, e.pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// IsDescendant reports whether pid is of or descends from it, by parents.
func IsDescendant(pid, of int) bool {
	for range maxAncestors {
		if pid == of {
			return true
		}
		e, ok := readEntry(pid)
		if !ok || e.ppid <= 0 || e.ppid == pid {
			return false
		}
		pid = e.ppid
	}
	return false
}

// maxAncestors bounds a walk up a process table that changes under it.
const maxAncestors = 10_000

// StartTime returns when pid was started, in a unit of the system. A pid and
// its start time name one process; a pid alone is reused.
func StartTime(pid int) (uint64, error) {
	e, ok := readEntry(pid)
	if !ok {
		return 0, fmt.Errorf("process %d: not in the process table", pid)
	}
	return e.start, nil
}

// closure returns the descendants of roots in table, without the roots.
func closure(table []entry, roots []int) []entry {
	children := make(map[int][]int, len(table))
	for i, e := range table {
		children[e.ppid] = append(children[e.ppid], i)
	}
	seen := make(map[int]bool, len(roots))
	for _, pid := range roots {
		seen[pid] = true
	}
	var found []entry
	for queue := slices.Clone(roots); len(queue) > 0; queue = queue[1:] {
		for _, i := range children[queue[0]] {
			if e := table[i]; !seen[e.pid] {
				seen[e.pid] = true
				found = append(found, e)
				queue = append(queue, e.pid)
			}
		}
	}
	return found
}
