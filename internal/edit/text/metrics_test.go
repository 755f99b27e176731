package text

import (
	"testing"

	"pgregory.net/rapid"
)

// TestTallyCountsByteByByte holds the counting of words against the definition.
func TestTallyCountsByteByByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.SampledFrom([]byte{'a', '\n', 0x00, 0x7F, 0x80, 0xBF, 0xC3, 0xE2, 0xEF, 0xF0, 0xF4, 0xFF})).Draw(t, "bytes")
		var want counts
		for _, x := range b {
			switch {
			case x == '\n':
				want.lines++
			case x == CRLF:
				want.lines++
				want.crlf++
			case x >= 0xF0:
				want.supp++
			case x >= 0x80 && x < 0xC0:
				want.cont++
			}
		}
		if got := scan(b); got != want {
			t.Fatalf("%x: got %+v, want %+v", b, got, want)
		}
	})
}
