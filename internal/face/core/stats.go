package core

import (
	"math/bits"
	"sync"
	"time"

	"dragoman/wire/core"
)

// A verdict is how a call ended.
type verdict int

const (
	succeeded verdict = iota
	failed
)

// A histogram counts times in microseconds in buckets of an eighth of a
// power of two: a percentile is at most an eighth too large.
type histogram struct {
	count, errors int64
	buckets       [64 * 8]int64
}

func bucketOf(us uint64) int {
	if us < 8 {
		return int(us)
	}
	e := bits.Len64(us) - 1
	return e*8 + int(us>>(e-3))&7
}

func bucketTop(i int) int64 {
	if i < 8 {
		return int64(i)
	}
	e, m := i/8, i%8
	return int64(8+m+1)<<(e-3) - 1
}

// percentile is the time that the share of the calls stayed within.
func (h *histogram) percentile(share float64) int64 {
	rank := int64(share*float64(h.count) + 0.5)
	var seen int64
	for i, n := range h.buckets {
		if seen += n; n > 0 && seen >= rank {
			return bucketTop(i)
		}
	}
	return 0
}

// stats are the times of all operations.
type stats struct {
	mu  sync.Mutex
	ops map[string]*histogram
}

func (s *stats) add(op string, d time.Duration, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.ops[op]
	if h == nil {
		// Names that clients make up don't fill the memory.
		if s.ops == nil {
			s.ops = map[string]*histogram{}
		}
		if len(s.ops) >= maxStats {
			return
		}
		h = &histogram{}
		s.ops[op] = h
	}
	h.count++
	if v == failed {
		h.errors++
	}
	h.buckets[bucketOf(uint64(d.Microseconds()))]++
}

// maxStats bounds the operations that are counted, unknown ones among them.
const maxStats = 512

func (s *stats) read(known func(string) bool) map[string]core.OpStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]core.OpStats{}
	for op, h := range s.ops {
		if known(op) {
			out[op] = core.OpStats{
				Count: h.count, Errors: h.errors,
				P50Us: h.percentile(0.5), P99Us: h.percentile(0.99),
			}
		}
	}
	return out
}
