//go:build linux || darwin

package proc

import (
	"log/slog"
	"os"
	"path/filepath"
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
	if left := endAll(find, deadGrace); len(left) > 0 {
		log.Warn("dead instance's children not ended", "instance", d.instance, "err", survivorsOf(left))
		return
	}
	log.Info("dead instance's children ended", "instance", d.instance, "count", len(found))
	os.Remove(d.file.Name())
}

// left returns what in table is alive and descends from a start of the dead
// instance. We may be among it (the instance had started our host), and so
// may living instances: those, what they started and our own ancestors are
// left out.
func (d deadInstance) left(table []entry, spared map[int]bool) []entry {
	var roots []int
	var found []entry
	for _, e := range table {
		if d.leads(e) || markOf(e.pid).of(d.instance) {
			roots = append(roots, e.pid)
			found = append(found, e)
		}
	}
	found = append(found, closure(table, roots)...)
	return withoutSpared(found, table, spared)
}

// leads reports whether e is a leader of the ledger or still in its group. A
// group whose leader is gone can't be told from a later one of that number.
func (d deadInstance) leads(e entry) bool {
	for _, l := range d.leaders {
		if e.pid == l.pid && e.start == l.start {
			return true
		}
	}
	return false
}

func withoutSpared(found, table []entry, spared map[int]bool) []entry {
	byPID := make(map[int]entry, len(table))
	for _, e := range table {
		byPID[e.pid] = e
	}
	ours := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !ours[pid]; pid = byPID[pid].ppid {
		ours[pid] = true
	}
	underLiving := func(e entry) bool {
		for range maxAncestors {
			if spared[e.pid] {
				return true
			}
			parent, ok := byPID[e.ppid]
			if !ok {
				return false
			}
			e = parent
		}
		return true
	}
	kept := found[:0]
	for _, e := range found {
		if !e.zombie && !ours[e.pid] && !underLiving(e) {
			kept = append(kept, e)
		}
	}
	return kept
}
