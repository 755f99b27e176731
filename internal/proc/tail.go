package proc

import (
	"strings"
	"sync"
	"unicode/utf8"

	"dragoman/internal/redact"
)

// Sizes of a stderr tail in bytes (lanes.md §2). The slack in front is kept
// so that a credential that the cut would halve is still recognized whole.
const (
	tailBytes = 16 << 10
	tailSlack = 4 << 10
)

// A tail keeps the end of what was written to it, in bounded memory.
type tail struct {
	redactor *redact.Redactor

	mu  sync.Mutex
	buf []byte
	cut bool // something was dropped in front
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const keep = tailBytes + tailSlack
	n := len(b)
	if len(b) > keep {
		b, t.cut = b[len(b)-keep:], true
	}
	if over := len(t.buf) + len(b) - 2*keep; over > 0 {
		// Moved only once in a while, so that small writes stay cheap.
		start := len(t.buf) - max(keep-len(b), 0)
		t.buf = t.buf[:copy(t.buf, t.buf[start:])]
		t.cut = true
	}
	t.buf = append(t.buf, b...)
	return n, nil
}

// String returns at most tailBytes of valid UTF-8 without secrets.
func (t *tail) String() string {
	t.mu.Lock()
	raw, cut := t.buf, t.cut
	if over := len(raw) - tailBytes - tailSlack; over > 0 {
		raw, cut = raw[over:], true
	}
	text := string(raw)
	t.mu.Unlock()

	if cut {
		text = trimHead(text)
	}
	text = strings.ToValidUTF8(t.redactor.Excerpt(trimEnd(text)), string(utf8.RuneError))
	if over := len(text) - tailBytes; over > 0 {
		text = trimHead(text[over:])
	}
	return text
}

// trimHead drops the rest of a character whose start was cut off.
func trimHead(text string) string {
	for i := range min(utf8.UTFMax, len(text)) {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	return text
}

// trimEnd drops the start of a character whose rest hasn't come yet.
func trimEnd(text string) string {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		last := text[len(text)-n:]
		if utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}
