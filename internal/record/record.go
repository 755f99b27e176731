package record

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/redact"
)

// Directions of a recorded line.
const (
	ToAgent   = ">"
	FromAgent = "<"
	Note      = "#"
)

// lineMax is the longest line that is kept whole; a longer one is recorded in
// raw pieces.
const lineMax = 8 << 20

// A Recorder writes one recording. Its methods are safe for concurrent use.
type Recorder struct {
	redact *redact.Redactor
	start  time.Time

	mu     sync.Mutex
	out    io.WriteCloser
	closed bool
	part   map[string][]byte // a line so far, by direction
}

// New returns a Recorder that owns out. secrets are the values that must not
// be written.
func New(out io.WriteCloser, secrets []string) *Recorder {
	return &Recorder{redact: redact.New(secrets), start: time.Now(), out: out, part: map[string][]byte{}}
}

// Create is New on a new file that only its owner can read.
func Create(path string, secrets []string) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return New(f, secrets), nil
}

// Bytes records what passed in one direction, cut anywhere.
func (r *Recorder) Bytes(dir string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			r.part[dir] = append(r.part[dir], data...)
			if len(r.part[dir]) > lineMax {
				r.flushLocked(dir)
			}
			return
		}
		r.part[dir] = append(r.part[dir], data[:i]...)
		r.flushLocked(dir)
		data = data[i+1:]
	}
}

// Note records a JSON value of ours.
func (r *Recorder) Note(value []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeLocked(Note, value)
}

// Close records what is left of lines without an end and closes the file. It
// may be called twice.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	for dir, part := range r.part {
		if len(part) > 0 {
			r.flushLocked(dir)
		}
	}
	r.closed = true
	return r.out.Close()
}

func (r *Recorder) flushLocked(dir string) {
	r.writeLocked(dir, r.part[dir])
	if r.part[dir] = r.part[dir][:0]; cap(r.part[dir]) > lineMax {
		r.part[dir] = nil
	}
}

// writeLocked writes one line: as msg if it is JSON, also after it was
// redacted, else as raw.
func (r *Recorder) writeLocked(dir string, line []byte) {
	if r.closed {
		return
	}
	text := r.redact.String(string(bytes.TrimSuffix(line, []byte("\r"))))
	out := append([]byte(`{"t":`), strconv.FormatFloat(time.Since(r.start).Seconds(), 'f', 3, 64)...)
	out = append(append(append(out, `,"dir":"`...), dir...), `",`...)
	if value := jsontext.Value(text); utf8.ValidString(text) && value.IsValid() {
		out = append(append(out, `"msg":`...), text...)
	} else {
		out = append(out, `"raw":`...)
		out, _ = jsontext.AppendQuote(out, text)
	}
	// An error is none of the conversation's business.
	_, _ = r.out.Write(append(out, "}\n"...))
}

// noteOf makes the note at the start of a recording.
func noteOf(program string, args []string, dir string) []byte {
	quoted := func(s string) string {
		b, _ := jsontext.AppendQuote(nil, s)
		return string(b)
	}
	argv := quoted(program)
	for _, a := range args {
		argv += "," + quoted(a)
	}
	return fmt.Appendf(nil, `{"note":"start","argv":[%s],"cwd":%s}`, argv, quoted(dir))
}
