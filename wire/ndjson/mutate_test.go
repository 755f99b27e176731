package ndjson

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// tokens are what mutations put into documents, besides any byte.
var tokens = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, `"a"`, `"a":1`, `,"a":2`, `"\u0061"`, `\ud83d`, `\ude00`, `\ud83d\ude00`, `\u00e9`, `\n`, `\/`,
	`0`, `-`, `1.5e-3`, `.`, `e`, `+`, `true`, `false`, `null`, ` `, "\t", "\r", "\n", "\x00", "\x1f", "\x7f", "\x80", "\xff", "\xc3", "é", "漢", "😀",
	"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "\ufeff", "\ufffd", "abcdefghijklmnop", `{"a":{"a":[{"b":1,"c":2}]}}`,
}

// document appends a random valid value.
func document(r *rand.Rand, dst []byte, depth int) []byte {
	n := r.IntN(7)
	if depth <= 0 {
		n = r.IntN(4)
	}
	switch n {
	case 0:
		return append(dst, []string{"0", "-1", "12.5", "1e9", "-0.0E-1"}[r.IntN(5)]...)
	case 1:
		return append(dst, []string{"true", "false", "null"}[r.IntN(3)]...)
	case 2, 3:
		return text(r, dst)
	case 4:
		dst = append(dst, '[')
		for i := range r.IntN(5) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = document(r, dst, depth-1)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i := range r.IntN(24) { // beyond fewKeys now and then
		if i > 0 {
			dst = append(dst, ',', ' ')
		}
		dst = append(text(r, dst), ':')
		dst = document(r, dst, depth-2)
	}
	return append(dst, '}')
}

// text appends a random string of up to some tens of bytes.
func text(r *rand.Rand, dst []byte) []byte {
	dst = append(dst, '"')
	for range r.IntN(24) {
		switch r.IntN(12) {
		case 0:
			dst = append(dst, []string{`\n`, `\"`, `\\`, `\u0061`, `\ud83d\ude00`, `\u00E9`}[r.IntN(6)]...)
		case 1:
			dst = append(dst, []string{"é", "漢", "😀", "\u2028", "\x7f"}[r.IntN(5)]...)
		default:
			dst = append(dst, byte('a'+r.IntN(26)))
		}
	}
	return append(dst, '"')
}

// mutate changes a document in a few places.
func mutate(r *rand.Rand, b []byte) []byte {
	for range r.IntN(3) {
		at := r.IntN(len(b) + 1)
		token := tokens[r.IntN(len(tokens))]
		end := min(len(b), at+r.IntN(4))
		switch r.IntN(4) {
		case 0: // insert
			end = at
		case 1: // remove
			token = ""
		case 2: // repeat a part
			from := r.IntN(len(b) + 1)
			token = string(b[from:min(len(b), from+r.IntN(20))])
			end = at
		}
		b = append(b[:at:at], append([]byte(token), b[end:]...)...)
	}
	return b
}

// TestScanAgainstJsontext compares verdicts on mutated documents.
func TestScanAgainstJsontext(t *testing.T) {
	const documents = 15_000
	r := rand.New(rand.NewPCG(1, 2))
	var s Scanner
	broken := 0
	for range documents {
		line := mutate(r, document(r, nil, 4))
		err, want := s.Scan(line), oracle(line)
		if (err == nil) != (want == nil) {
			t.Fatalf("%q: got %v, jsontext %v", line, err, want)
		}
		if err == nil {
			checkMembers(t, &s, line)
			continue
		}
		broken++
		if fixed, _, err := Repair(nil, bytes.Clone(line)); err == nil && oracle(fixed) != nil {
			t.Fatalf("%q repaired as %q: %v", line, fixed, oracle(fixed))
		}
	}
	if broken < documents/4 || broken > documents*3/4 {
		t.Errorf("%d of %d documents were broken: the mutations are too weak or too strong", broken, documents)
	}
}
