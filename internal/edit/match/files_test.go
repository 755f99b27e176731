package match

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBinary = errors.New("binary")

// memory is a scan of files that are strings.
func memory(t *testing.T, query string) (*Scan, func() []string) {
	t.Helper()
	p, err := Compile(query, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var out []string
	s := &Scan{
		Pattern: p,
		Decode: func(raw []byte) ([]byte, error) {
			if bytes.IndexByte(raw, 0) >= 0 {
				return nil, errBinary
			}
			return raw, nil
		},
		Report: func(f Found) {
			mu.Lock()
			defer mu.Unlock()
			out = append(out, fmt.Sprintf("%s%v%v %v", f.Name, f.Matches, f.More, f.Err))
		},
		Workers: 3,
	}
	return s, func() []string { sort.Strings(out); return out }
}

// send gives each file as a folder of its own, and counts those not closed yet.
func send(files map[string]string, open *atomic.Int64) <-chan Folder {
	folders := make(chan Folder, len(files))
	for name := range files {
		open.Add(1)
		folders <- Folder{Path: "dir", Names: []string{name}, Close: func() { open.Add(-1) },
			Open: func(name string) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(files[name])), nil
			},
		}
	}
	close(folders)
	return folders
}

func TestScanReportsMatchesAndSkips(t *testing.T) {
	files := map[string]string{
		"a": "xfoo\nfoo foo", "b": "nothing", "c": "foo\x00", "d": strings.Repeat("foo", 1<<20), "e": "",
	}
	s, out := memory(t, "foo")
	s.FileLimit, s.MaxPerFile = 1<<20, 2
	var open atomic.Int64
	n, err := s.Run(context.Background(), send(files, &open))
	if err != nil || n != 3 || open.Load() != 0 {
		t.Errorf("%d files, %v, %d folders open", n, err, open.Load())
	}
	want := "[a[{1 4} {5 8}]true <nil> c[]false binary d[]false " + ErrTooLong.Error() + "]"
	if got := fmt.Sprint(out()); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestScanOfALongFileFindsTheSame(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 100000) + "foo"
	files := map[string]string{"a": strings.Replace(long, "x", "foo", 1)}
	s, _ := memory(t, "foo")
	s.Report = func(f Found) {
		if got := fmt.Sprint(f.Matches); got != "[{0 3} {10000002 10000005}]" {
			t.Errorf("got %s", got)
		}
	}
	if n, err := s.Run(context.Background(), send(files, new(atomic.Int64))); n != 1 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	files := map[string]string{"a": "foo", "b": "foo", "c": "foo"}
	s, _ := memory(t, "foo")
	s.Workers = 1
	ctx, cancel := context.WithCancel(context.Background())
	s.Report = func(Found) { cancel() }
	var open atomic.Int64
	n, err := s.Run(ctx, send(files, &open))
	if !errors.Is(err, context.Canceled) || n != 1 || open.Load() != 0 {
		t.Errorf("%d files, %v, %d folders open", n, err, open.Load())
	}
}
