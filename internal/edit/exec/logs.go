package exec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dragoman/wire/core"
)

// Limits of the logs (core.md §6).
const (
	// MaxLogBytes is how much output of a run is kept, and how much of all runs
	// together. What a run writes beyond is counted and told, but not kept.
	MaxLogBytes = 1 << 30
	// LogAge is how long the log of an ended run is kept.
	LogAge = 24 * time.Hour
)

// logs are the logs of a core's runs: a folder a run, a file a stream.
type logs struct {
	dir string
	own bool // dir goes with us
	max int64
}

func openLogs(dir string) (*logs, error) {
	l := &logs{dir: dir, max: MaxLogBytes}
	if dir != "" {
		return l, os.MkdirAll(dir, 0o700)
	}
	var err error
	l.own = true
	l.dir, err = os.MkdirTemp("", "dragoman-exec-")
	return l, err
}

func (l *logs) close() error {
	if !l.own {
		return nil
	}
	return os.RemoveAll(l.dir)
}

// begin makes the log of a process.
func (l *logs) begin(x *process) error {
	dir := filepath.Join(l.dir, x.run)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, st := range x.streams {
		f, err := os.OpenFile(filepath.Join(dir, string(st.name)), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		st.file = f
	}
	return nil
}

// open opens the log of a stream for reading.
func (l *logs) open(run string, stream core.OutputStream) (*os.File, error) {
	if !runName(run) {
		return nil, fs.ErrNotExist
	}
	return os.Open(filepath.Join(l.dir, run, string(stream)))
}

// runName reports whether run is spelled like the id of a run, and so names
// no other folder.
func runName(run string) bool {
	if len(run) < 2 || run[0] != 'r' {
		return false
	}
	for _, c := range run[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// A kept log is what an ended run left.
type keptLog struct {
	dir  string
	size int64
	at   time.Time // of the last write
}

// prune removes the logs that are too old, and then the oldest ones while
// all together are too large. Those of live runs stay.
func (l *logs) prune(now time.Time, live func(run string) bool) error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return err
	}
	var kept []keptLog
	total := int64(0)
	for _, e := range entries {
		if !runName(e.Name()) {
			continue
		}
		k := measure(filepath.Join(l.dir, e.Name()))
		total += k.size
		if !live(e.Name()) {
			kept = append(kept, k)
		}
	}
	slices.SortFunc(kept, func(a, b keptLog) int { return a.at.Compare(b.at) })
	for _, k := range kept {
		if total <= l.max && now.Sub(k.at) <= LogAge {
			break
		}
		total -= k.size
		err = errors.Join(err, os.RemoveAll(k.dir))
	}
	return err
}

func measure(dir string) keptLog {
	k := keptLog{dir: dir}
	note := func(info fs.FileInfo) {
		if info.ModTime().After(k.at) {
			k.at = info.ModTime()
		}
	}
	if info, err := os.Stat(dir); err == nil {
		note(info)
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			k.size += info.Size()
			note(info)
		}
	}
	return k
}
