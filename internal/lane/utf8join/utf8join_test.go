package utf8join

import (
	"bytes"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

// decode joins text that arrives in pieces of n bytes.
func decode(text []byte, n int) string {
	var d Decoder
	var dst []byte
	for len(text) > 0 {
		k := min(n, len(text))
		dst = d.Append(dst, bytes.Clone(text[:k]))
		text = text[k:]
	}
	return string(d.Flush(dst))
}

func TestDecoder(t *testing.T) {
	tests := []struct{ in, want string }{
		{"aéb€c😀", "aéb€c😀"},
		{"\xe2\x82b\xf0\x9fc\xff\xfe", "\ufffdb\ufffdc\ufffd\ufffd"},
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{"\xe0\x80x", "\ufffd\ufffdx"},
		{"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
		{"\xf0\x9f\x98", "\ufffd"},
		{"\xc3\xc3\xa9", "\ufffdé"},
		{"\xf0\x9f\xf0\x9f\x98\x80", "\ufffd😀"},
		{"\x80\xc0\xaf", "\ufffd\ufffd\ufffd"},
		{"\ufffd", "\ufffd"},
		{"", ""},
	}
	for _, tt := range tests {
		for n := 1; n <= len(tt.in)+1; n++ {
			if got := decode([]byte(tt.in), n); got != tt.want {
				t.Errorf("%q in pieces of %d = %q, want %q", tt.in, n, got, tt.want)
			}
		}
	}
}

// FuzzDecoder compares every cutting with the standard decoder of whole
// texts, which follows the same rule for broken sequences.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("a\xc3"), 1)
	f.Add([]byte("\xf0\x9f\x98\x80\xe2\x28\xa1"), 2)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		if n < 1 {
			n = 1
		}
		if bytes.HasPrefix(text, []byte("\ufeff")) {
			t.Skip("the reference drops a byte order mark")
		}
		want, err := unicode.UTF8.NewDecoder().Bytes(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(text, n); got != string(want) {
			t.Errorf("%q in pieces of %d = %q, want %q", text, n, got, want)
		}
	})
}
