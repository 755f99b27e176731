//go:build linux || darwin

package proc

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// deadGrace is how long what a dead instance left has to end politely: its
// input has been at its end since then.
const deadGrace = time.Second

// endDeadInstances ends what instances whose lock is free left running, and
// removes their ledgers. Instances that live are never touched, nor is what
// they started.
func endDeadInstances(dir string, log *slog.Logger) {
	where, err := whereabouts()
	if err != nil {
		return
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return
	}
	var dead []deadInstance
	spared := map[int]bool{}
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, freshSuffix):
			removeStale(name)
		case strings.HasSuffix(name, ledgerSuffix):
			rec, file := judge(name, where)
			switch {
			case file != nil:
				dead = append(dead, deadInstance{rec, file})
			case rec.where == where:
				spared[rec.pid] = true
			}
		}
	}
	for _, d := range dead {
		d.end(spared, log)
	}
}

// judge reads a ledger and, if its instance is dead and it can be dealt with
// here, returns its locked file. A record without a file is a living
// instance's (or the zero value).
func judge(name string, here place) (record, *os.File) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return record{}, nil
	}
	rec, readErr := readRecord(file)
	if lock(file) != nil {
		file.Close()
		return rec, nil
	}
	switch {
	case readErr != nil, rec.where.boot != here.boot:
		os.Remove(name) // none of its processes can be alive
	case rec.where.namespace != here.namespace:
		removeStale(name)
	default:
		return rec, file
	}
	file.Close()
	return record{}, nil
}

func removeStale(name string) {
	if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > staleAge {
		os.Remove(name)
	}
}

// A deadInstance is one that was killed, with its ledger, which we hold.
type deadInstance struct {
	record
	file *os.File
}

func (d deadInstance) end(spared map[int]bool, log *slog.Logger) {
	defer d.file.Close()
	find := func() ([]entry, error) {
		table, err := readTable()
		if err != nil {
			return nil, err
		}
		return d.left(table, spared), nil
	}
	found, err := find()
	if err != nil {
		log.Warn("dead instance's children not looked for", "instance", d.instance, "err", err)
		return
	}
	if err := endAll(find, deadGrace); err != nil {
		log.Warn("dead instance's children not ended", "instance", d.instance, "err", err)
		return
	}
	log.Info("dead instance's children ended", "instance", d.instance, "count", len(found))
	os.Remove(d.file.Name())
}

// left returns what in table is alive and descends from a start of the dead
// instance. We may be among it (the instance had started our host), and so
// may living instances: our ancestors, those, and what they started are left
// out. What bears the dead instance's mark was started by none of those,
// whoever adopted it.
func (d deadInstance) left(table []entry, spared map[int]bool) []entry {
	ours := ancestry(table, os.Getpid())
	table = slices.DeleteFunc(table, func(e entry) bool { return spared[e.pid] || ours[e.pid] })
	var roots []int
	var found []entry
	for _, e := range table {
		if d.leads(e) || markOf(e.pid).of(d.instance) {
			roots = append(roots, e.pid)
			found = append(found, e)
		}
	}
	found = append(found, closure(table, roots)...)
	return slices.DeleteFunc(found, func(e entry) bool { return e.zombie })
}

// ancestry returns pid and its ancestors.
func ancestry(table []entry, pid int) map[int]bool {
	parent := make(map[int]int, len(table))
	for _, e := range table {
		parent[e.pid] = e.ppid
	}
	line := map[int]bool{}
	for ; pid > 0 && !line[pid]; pid = parent[pid] {
		line[pid] = true
	}
	return line
}

// leads reports whether e is a leader of the ledger. The group of a leader
// that is gone can't be told from a later one of that number.
func (d deadInstance) leads(e entry) bool {
	for _, l := range d.leaders {
		if e.pid == l.pid && e.start == l.start {
			return true
		}
	}
	return false
}
