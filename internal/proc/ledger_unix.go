//go:build linux || darwin

package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The ledger is a file an instance, locked for as long as the instance lives:
// a first line that says who and where, then a line a start (+) and an end
// (-) of a leader. A kill -9 frees the lock and leaves the file; writes are
// in the kernel by then, so nothing is synced.
const (
	ledgerFolder = "proc"
	ledgerSuffix = ".ledger"
	freshSuffix  = ".new" // not yet locked and named
	ledgerHead   = "dragoman-ledger 1 instance=%08x pid=%d start=%d ns=%s boot=%s\n"
)

// staleAge is how long files are kept that nobody can judge: of another pid
// namespace, or of an instance that died while it was born.
const staleAge = 7 * 24 * time.Hour

// A ledger is this instance's. A nil ledger keeps nothing.
type ledger struct {
	dir string

	mu      sync.Mutex
	file    *os.File
	head    int64 // size of the first line
	running int   // leaders that haven't ended
	noted   int   // lines since the first
}

// notedMax is how many lines are kept when nothing runs.
const notedMax = 1000

// openLedger creates the instance's file under stateDir. The file is locked
// before it has its name, so that nobody takes it for a dead instance's.
func openLedger(stateDir string, instance uint32) (*ledger, error) {
	dir := filepath.Join(stateDir, ledgerFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, fmt.Sprintf("%08x", instance))
	file, err := os.OpenFile(name+freshSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	head, err := writeHead(file, instance)
	if err == nil {
		err = os.Rename(file.Name(), name+ledgerSuffix)
	}
	if err != nil {
		os.Remove(file.Name())
		file.Close()
		return nil, err
	}
	return &ledger{dir: dir, file: file, head: int64(head)}, nil
}

func writeHead(file *os.File, instance uint32) (size int, err error) {
	if err := lock(file); err != nil {
		return 0, err
	}
	where, err := whereabouts()
	if err != nil {
		return 0, err
	}
	start, err := StartTime(os.Getpid())
	if err != nil {
		return 0, err
	}
	return fmt.Fprintf(file, ledgerHead, instance, os.Getpid(), start, where.namespace, where.boot)
}

// lock takes the file's lock if it is free.
func lock(file *os.File) error {
	return withFD(file, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
}

// started and ended are best effort: a full disk must not stop an agent.
func (l *ledger) started(leader entry) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
	l.noteLocked('+', leader)
}

func (l *ledger) ended(leader entry) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if l.running == 0 && l.noted >= notedMax && l.file.Truncate(l.head) == nil {
		l.noted = 0
		return
	}
	l.noteLocked('-', leader)
}

func (l *ledger) noteLocked(what byte, leader entry) {
	l.noted++
	fmt.Fprintf(l.file, "%c %d %d\n", what, leader.pid, leader.start)
}

// close removes the file: nothing is left to be found.
func (l *ledger) close() {
	if l == nil {
		return
	}
	os.Remove(filepath.Join(l.dir, strings.TrimSuffix(filepath.Base(l.file.Name()), freshSuffix)+ledgerSuffix))
	l.file.Close()
}

// A place is where pids mean what they say: one run of one kernel, one pid
// namespace.
type place struct{ boot, namespace string }

// A record is what a ledger file says.
type record struct {
	instance uint32
	pid      int // of the instance
	start    uint64
	where    place
	leaders  []entry // pid and start only; those that haven't ended
}

var errNotLedger = errors.New("not a ledger")

// readRecord reads a ledger. A torn last line doesn't count.
func readRecord(r io.Reader) (record, error) {
	in := bufio.NewReader(r)
	head, err := in.ReadString('\n')
	if err != nil {
		return record{}, errNotLedger
	}
	var rec record
	if _, err := fmt.Sscanf(head, ledgerHead, &rec.instance, &rec.pid, &rec.start, &rec.where.namespace, &rec.where.boot); err != nil {
		return record{}, errNotLedger
	}
	leaders := map[entry]bool{}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		var what string
		var leader entry
		if _, err := fmt.Sscanf(line, "%1s %d %d\n", &what, &leader.pid, &leader.start); err != nil {
			continue
		}
		if what == "+" {
			leaders[leader] = true
		} else {
			delete(leaders, leader)
		}
	}
	for leader := range leaders {
		rec.leaders = append(rec.leaders, leader)
	}
	return rec, nil
}
