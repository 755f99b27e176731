package ndjson

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

const (
	fewKeys      = 16      // up to here keys are compared one by one
	maxSpareKeys = 8 << 10 // entries that are kept from line to line
	decodedBit   = 1 << 31
)

// keys holds the keys of all open objects, innermost last, to find duplicates.
// An object with few keys compares fingerprints; one with many has a hash
// table, seeded so that nobody can choose keys that collide.
type keys struct {
	all     []key
	decoded []byte     // texts of keys with escapes
	tables  [][]uint32 // of 1 + an index relative to the object's first key
	used    int        // tables in use
	seed    maphash.Seed
	seeded  bool
}

// A key is one member's. In an object with a table, print is its hash.
type key struct {
	print      uint64
	start, end uint32 // of its text; with decodedBit in start, in decoded
	pos        uint32 // of its quote in the line
}

func (k *keys) len() int { return len(k.all) }

func (k *keys) reset() {
	k.all, k.decoded, k.used = k.all[:0], k.decoded[:0], 0
}

// shrink drops memory that an unusual line needed. Members still refer to
// decoded, which their line's next scan may not overwrite if it was dropped.
func (k *keys) shrink() {
	if cap(k.all) > maxSpareKeys {
		k.all = nil
	}
	if cap(k.decoded) > maxKeptBytes {
		k.decoded = nil
	}
	for _, t := range k.tables {
		if len(t) > maxSpareKeys {
			k.tables = nil
			break
		}
	}
}

// add appends the key at b[start:end], quotes included, and returns its index.
func (k *keys) add(f *frame, b []byte, start, end int, escaped bool) int {
	e := key{start: uint32(start + 1), end: uint32(end - 1), pos: uint32(start)}
	text := b[start+1 : end-1]
	if escaped {
		from := len(k.decoded)
		k.decoded = unquoteValid(k.decoded, text)
		e.start, e.end = uint32(from)|decodedBit, uint32(len(k.decoded))
		text = k.decoded[from:]
	}
	i := len(k.all)
	if f.table > 0 {
		e.print = maphash.Bytes(k.seed, text)
	} else {
		e.print = fingerprint(text)
	}
	k.all = append(k.all, e)
	if f.table == 0 && i-f.keys >= fewKeys {
		k.index(f, b)
	}
	return i
}

// text is the decoded key. It stays valid when decoded grows or is dropped.
func (k *keys) text(b []byte, i int) []byte {
	e := &k.all[i]
	if e.start&decodedBit != 0 {
		start := e.start &^ decodedBit
		return k.decoded[start:e.end:e.end]
	}
	return b[e.start:e.end:e.end]
}

// fingerprint tells most different keys apart.
func fingerprint(s []byte) uint64 {
	n := len(s)
	switch {
	case n >= 8:
		head, tail := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[n-8:])
		return head ^ bits.RotateLeft64(tail, 29) ^ uint64(n)<<56
	case n >= 4:
		head, tail := binary.LittleEndian.Uint32(s), binary.LittleEndian.Uint32(s[n-4:])
		return uint64(head) | uint64(tail)<<32 ^ uint64(n)
	case n > 0:
		return uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16 | uint64(n)<<24
	}
	return 0
}

// find returns the newest earlier key of f's object that equals key i, or -1,
// and notes key i.
func (k *keys) find(f *frame, b []byte, i int) int {
	if f.table > 0 {
		return k.lookUp(f, b, i)
	}
	print := k.all[i].print
	for j := i - 1; j >= f.keys; j-- {
		if k.all[j].print == print && bytes.Equal(k.text(b, j), k.text(b, i)) {
			return j
		}
	}
	return -1
}

// lookUp is find in an object's table.
func (k *keys) lookUp(f *frame, b []byte, i int) int {
	t := k.tables[f.table-1]
	if 2*(i-f.keys) >= len(t) {
		t = k.fill(f, make([]uint32, 2*len(t)), i)
	}
	mask := uint32(len(t) - 1)
	e := k.all[i]
	for slot := uint32(e.print) & mask; ; slot = (slot + 1) & mask {
		if t[slot] == 0 {
			t[slot] = uint32(i-f.keys) + 1
			return -1
		}
		j := f.keys + int(t[slot]) - 1
		if k.all[j].print == e.print && bytes.Equal(k.text(b, j), k.text(b, i)) {
			t[slot] = uint32(i-f.keys) + 1
			return j
		}
	}
}

// index gives f's object a table with all its keys but the last.
func (k *keys) index(f *frame, b []byte) {
	if !k.seeded {
		k.seed, k.seeded = maphash.MakeSeed(), true
	}
	for i := f.keys; i < len(k.all); i++ {
		k.all[i].print = maphash.Bytes(k.seed, k.text(b, i))
	}
	if k.used == len(k.tables) {
		k.tables = append(k.tables, make([]uint32, 8*fewKeys))
	}
	k.used++
	f.table = k.used
	t := k.tables[f.table-1]
	clear(t)
	k.fill(f, t, len(k.all)-1)
}

// fill makes t the table of f's object, with its keys before end. Of equal
// keys, which a lenient scan lets stand, the newest counts.
func (k *keys) fill(f *frame, t []uint32, end int) []uint32 {
	k.tables[f.table-1] = t
	mask := uint32(len(t) - 1)
	for i := end - 1; i >= f.keys; i-- {
		slot := uint32(k.all[i].print) & mask
		for t[slot] != 0 && k.all[f.keys+int(t[slot])-1].print != k.all[i].print {
			slot = (slot + 1) & mask
		}
		if t[slot] == 0 {
			t[slot] = uint32(i-f.keys) + 1
		}
	}
	return t
}

// cut is the span of a superseded member: up to the next one's key.
func (k *keys) cut(i int) Span {
	return Span{int(k.all[i].pos), int(k.all[i+1].pos)}
}

// close drops the keys of an object that ended.
func (k *keys) close(f frame) {
	k.all = k.all[:f.keys]
	if f.table > 0 {
		k.used--
	}
}
