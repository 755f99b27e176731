package proc

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A mark tells which start of which instance a process descends from. It is
// the soft value of a resource limit that nothing uses, RLIMIT_RTTIME: the
// CPU time that a process of real-time priority may take without a pause, in
// microseconds, here hundreds of thousands of years. Children inherit it
// through setsid, double forks and a cleared environment; anybody may read it
// in /proc/PID/limits. An environment variable would be seen by programs
// (sidecar.md §4 allows none) and is easily cleared.
//
// From the top: 12 bits magic, 32 bits instance, 20 bits number of the start.
// 0 is no mark.
type mark uint64

const (
	markMagic        = 0x4a4
	markInstanceBits = 32
	markSeqBits      = 20
)

func newMark(instance uint32, seq uint64) mark {
	return mark(markMagic<<(markInstanceBits+markSeqBits) | uint64(instance)<<markSeqBits | seq%(1<<markSeqBits))
}

// valid reports whether m is one of ours, of whatever instance.
func (m mark) valid() bool { return m>>(markInstanceBits+markSeqBits) == markMagic }

// of reports whether m is a mark of instance.
func (m mark) of(instance uint32) bool {
	return m.valid() && m.instance() == instance
}

// instance returns the number of the instance that gave m.
func (m mark) instance() uint32 { return uint32(m >> markSeqBits) }

// foreign reports whether m is a mark that another process than ours gave,
// and not the one that we were started with ourselves.
func (m mark) foreign() bool {
	return m.valid() && !registered(m.instance()) && m != markOf(os.Getpid())
}

// newInstance returns the number of an instance: random, since instances with
// different state folders know nothing of each other.
func newInstance() uint32 {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint32(b[:]) | 1
}

// put makes m the mark that our next child inherits, and returns what undoes
// that. The caller holds the start lock: limits are the whole process's. If
// the limit can't be set there are no marks.
func (m mark) put() (undo func(), ok bool) {
	var old unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &old); err != nil || old.Max < uint64(m) {
		return func() {}, false
	}
	// Only the soft value: a hard one could not be raised again.
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: uint64(m), Max: old.Max}, nil); err != nil {
		return func() {}, false
	}
	return func() { unix.Prlimit(0, unix.RLIMIT_RTTIME, &old, nil) }, true
}

// markOf returns the mark of pid, also of a zombie; 0 if it has none.
func markOf(pid int) mark {
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0
	}
	return parseMark(limits)
}

var rttimeLine = []byte("Max realtime timeout")

func parseMark(limits []byte) mark {
	i := bytes.Index(limits, rttimeLine)
	if i < 0 {
		return 0
	}
	line, _, _ := bytes.Cut(limits[i+len(rttimeLine):], []byte{'\n'})
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[0]), 10, 64)
	if err != nil || !mark(n).valid() {
		return 0
	}
	return mark(n)
}
