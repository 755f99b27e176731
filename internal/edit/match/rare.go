package match

import "bytes"

// A rare finds a literal by the byte of it that text holds least often: the
// processor skips to such bytes fastest.
type rare struct {
	literal []byte
	// at is where the rare byte stands in the literal.
	at int
}

// common are the bytes of source code and prose, the most frequent first. What
// isn't here is rarer.
const common = " etaoinsrlc\tdupm\nf.ghb(),_\"vw=:y/k-;{}*x0S'[]TC1>EI&AjP2qDRNF<LO+3zMB#64"

func newRare(literal []byte) rare {
	r, best := rare{literal: literal}, -1
	for i, c := range literal {
		rank := bytes.IndexByte([]byte(common), c)
		if rank < 0 {
			rank = len(common)
		}
		if rank > best {
			r.at, best = i, rank
		}
	}
	return r
}

// misses is how many places with the rare byte may turn out wrong, for each
// kilobyte passed, before the byte counts as frequent here.
const misses = 16

// index is bytes.Index of the literal.
func (r rare) index(text []byte) int {
	n, failed := len(r.literal), 0
	for from := 0; from+n <= len(text); {
		i := bytes.IndexByte(text[from+r.at:len(text)-n+r.at+1], r.literal[r.at])
		if i < 0 {
			return -1
		}
		from += i
		if bytes.Equal(text[from:from+n], r.literal) {
			return from
		}
		from++
		if failed++; failed > misses+from>>10*misses {
			if i = bytes.Index(text[from:], r.literal); i < 0 {
				return -1
			}
			return from + i
		}
	}
	return -1
}

// in reports whether text holds the literal.
func (r rare) in(text []byte) bool { return r.index(text) >= 0 }
