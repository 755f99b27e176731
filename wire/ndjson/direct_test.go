package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// streams are the kinds of connection that a direct write knows.
func streams(t *testing.T) map[string]func() (io.ReadCloser, io.WriteCloser) {
	pipe := func() (*os.File, *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	return map[string]func() (io.ReadCloser, io.WriteCloser){
		"pipe": func() (io.ReadCloser, io.WriteCloser) { return pipe() },
		"blocking pipe": func() (io.ReadCloser, io.WriteCloser) {
			r, w := pipe()
			w.Fd() // makes it blocking
			return r, w
		},
		"socket": func() (io.ReadCloser, io.WriteCloser) {
			l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			out, err := net.Dial("unix", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			in, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			return in, out
		},
		"memory": func() (io.ReadCloser, io.WriteCloser) { return io.Pipe() },
	}
}

func TestPushNeverBlocks(t *testing.T) {
	for name, open := range streams(t) {
		t.Run(name, func(t *testing.T) {
			in, out := open()
			WidenPipe(out)
			w := NewWriter(out, WriterOptions{})
			var want bytes.Buffer
			for i := range 3000 { // more than any pipe holds, and nobody reads
				line := append(fmt.Appendf(nil, "%d ", i), bytes.Repeat([]byte{'x'}, i)...)
				want.Write(append(line, '\n'))
				if err := w.Queue(line); err != nil {
					t.Fatal(err)
				}
				if i%7 == 0 {
					w.Push()
				}
			}
			got := make(chan []byte)
			go func() {
				b, _ := io.ReadAll(in)
				got <- b
			}()
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			_ = out.Close()
			if b := <-got; !bytes.Equal(b, want.Bytes()) {
				t.Fatalf("got %d bytes, want %d", len(b), want.Len())
			}
			_ = in.Close()
		})
	}
}

func TestPushToClosedPipe(t *testing.T) {
	for name, open := range streams(t) {
		t.Run(name, func(t *testing.T) {
			in, out := open()
			_ = in.Close()
			w := NewWriter(out, WriterOptions{})
			_ = w.Queue([]byte("a"))
			w.Push()
			<-w.Done()
			if err := w.Err(); err == nil || errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
			if err := w.Queue([]byte("a")); !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
			_ = out.Close()
		})
	}
}
