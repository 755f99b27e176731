package proc

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"dragoman/internal/redact"
)

func TestTailKeepsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl := &tail{redactor: redact.New(nil)}
		var all strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "writes") {
			piece := strings.Repeat(rapid.StringMatching(`[a-z é€😀\n]{1,3}`).Draw(t, "piece"), rapid.IntRange(1, 9000).Draw(t, "times"))
			all.WriteString(piece)
			if n, err := tl.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatalf("write: %d %v", n, err)
			}
			if len(tl.buf) > 2*(tailBytes+tailSlack) {
				t.Fatalf("%d bytes are kept", len(tl.buf))
			}
		}
		got := tl.String()
		if !strings.HasSuffix(all.String(), got) || !utf8.ValidString(got) {
			t.Fatalf("tail isn't the end of what was written")
		}
		if len(got) > tailBytes || len(got) < min(all.Len(), tailBytes-utf8.UTFMax) {
			t.Fatalf("%d bytes of %d", len(got), all.Len())
		}
	})
}

func TestTailHidesHalves(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	rapid.Check(t, func(t *rapid.T) {
		tl := &tail{redactor: redact.New([]string{secret})}
		pad := rapid.IntRange(0, 3*tailBytes).Draw(t, "pad")
		tl.Write([]byte(strings.Repeat("x", pad)))
		for range rapid.IntRange(1, 2000).Draw(t, "times") {
			tl.Write([]byte(secret + "|"))
		}
		tl.Write([]byte(secret[:rapid.IntRange(0, len(secret)).Draw(t, "half")]))
		got := tl.String()
		for i := 0; i+8 <= len(secret); i++ {
			if strings.Contains(got, secret[i:i+8]) {
				t.Fatalf("a piece of the secret, %q, is in the tail", secret[i:i+8])
			}
		}
	})
}

func TestTailOfBrokenText(t *testing.T) {
	for written, want := range map[string]string{
		"":                 "",
		"a\xff\xfeb":       "a\uFFFDb",
		"whole \xe2\x82":   "whole ",
		"whole \xe2\x82\n": "whole \uFFFD\n",
		"\x80start":        "\uFFFDstart",
	} {
		tl := &tail{redactor: redact.New(nil)}
		tl.Write([]byte(written))
		if got := tl.String(); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
