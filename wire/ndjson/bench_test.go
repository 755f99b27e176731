package ndjson

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// benchLine is a message of about size bytes with prose in it.
func benchLine(size int, prose string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` +
		strings.Repeat(prose, max(0, size-160)/len(prose)) + `"}}}}`)
}

func BenchmarkScan(b *testing.B) {
	for name, prose := range map[string]string{
		"plain": "The quick brown fox jumps over the lazy dog, again and again. ",
		"prose": `The quick brown fox jumps over the lazy dog, \"quoted\" and naïve.\n`,
		"cjk":   "敏捷的棕色狐狸跳过了懒狗。",
	} {
		for _, size := range []int{200, 2 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				line := benchLine(size, prose)
				b.SetBytes(int64(len(line)))
				b.ReportAllocs()
				var s Scanner
				for b.Loop() {
					if err := s.Scan(line); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{200, 2 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			block := bytes.Repeat(append(bytes.Repeat([]byte("x"), size-1), '\n'), 1<<20/size)
			src := &endless{block: block}
			r := NewReader(src, ReaderOptions{})
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// endless repeats a block.
type endless struct {
	block []byte
	at    int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.block[e.at:])
	e.at = (e.at + n) % len(e.block)
	return n, nil
}

func BenchmarkWriter(b *testing.B) {
	for _, size := range []int{200, 2 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := NewWriter(io.Discard, WriterOptions{})
			q := w.Quota(1 << 20)
			line := make([]byte, size-1)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.WriteQuota(b.Context(), q, line); err != nil {
					b.Fatal(err)
				}
			}
			_ = w.Close()
		})
	}
}
