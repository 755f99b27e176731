package hub

import (
	"strconv"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// slabBytes is the room that small events share, so that neighbours go out
// as one piece of memory.
const slabBytes = 64 << 10

// A piece is one encoded line with its LF inside a slab.
type piece struct {
	slab       []byte
	start, end int
}

func (p *piece) bytes() []byte { return p.slab[p.start:p.end:p.end] }

// A node is one event of the log.
type node struct {
	seq int64
	// total counts the bytes of all events up to and with this one.
	total int64
	event string
	// owner is the client that gets it whatever its filter, "" for none.
	owner string
	// params gives the params for units that weren't in use; nil for events
	// without positions, whose one encoding stands for all units.
	params func(op.Unit) any
	lines  [op.Units]atomic.Pointer[piece]
	next   atomic.Pointer[node]
}

// line returns the event's encoding for a unit.
func (n *node) line(u op.Unit) *piece {
	if n.params == nil {
		u = 0
	}
	if p := n.lines[u].Load(); p != nil {
		return p
	}
	params, err := encode(n.params(u))
	if err != nil {
		params = []byte("null")
	}
	buf := appendEvent(nil, n.event, n.seq, params)
	p := &piece{slab: buf, end: len(buf)}
	if n.lines[u].CompareAndSwap(nil, p) {
		return p
	}
	return n.lines[u].Load()
}

// encode writes a value as every line of the core has it: strings that
// aren't UTF-8 get U+FFFD, maps a fixed order.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
}

// appendEvent appends an event's line with its LF; seq 0 is none.
func appendEvent(dst []byte, event string, seq int64, params []byte) []byte {
	dst = append(dst, `{"event":"`...)
	dst = append(dst, event...)
	dst = append(dst, '"')
	if seq > 0 {
		dst = append(dst, `,"seq":`...)
		dst = strconv.AppendInt(dst, seq, 10)
	}
	dst = append(dst, `,"params":`...)
	dst = append(dst, params...)
	return append(dst, "}\n"...)
}

// slabs hand out room for lines; one a unit, so that a client's lines lie
// side by side.
type slabs [op.Units][]byte

// put copies an event's line into the unit's slab.
func (s *slabs) put(u op.Unit, event string, seq int64, params []byte) *piece {
	need := len(params) + len(event) + 64
	buf := s[u]
	if cap(buf)-len(buf) < need {
		buf = make([]byte, 0, max(slabBytes, need))
	}
	start := len(buf)
	buf = appendEvent(buf, event, seq, params)
	s[u] = buf
	return &piece{slab: buf[:cap(buf)], start: start, end: len(buf)}
}
