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
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBinary = errors.New("binary")

// memory is a scan of files that are strings.
func memory(t *testing.T, query string, files map[string]string) (*Scan, func() []string) {
	t.Helper()
	p, err := Compile(query, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var out []string
	s := &Scan{
		Pattern: p,
		Open: func(name string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(files[name])), nil
		},
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

func send(files map[string]string) <-chan []string {
	names := make(chan []string, len(files))
	for name := range files {
		names <- []string{name}
	}
	close(names)
	return names
}

func TestScanReportsMatchesAndSkips(t *testing.T) {
	files := map[string]string{
		"a": "xfoo\nfoo foo", "b": "nothing", "c": "foo\x00", "d": strings.Repeat("foo", 1<<20), "e": "",
	}
	s, out := memory(t, "foo", files)
	s.FileLimit, s.MaxPerFile = 1<<20, 2
	n, err := s.Run(context.Background(), send(files))
	if err != nil || n != 3 {
		t.Errorf("%d files, %v", n, err)
	}
	want := "[a[{1 4} {5 8}]true <nil> c[]false binary d[]false " + ErrTooLong.Error() + "]"
	if got := fmt.Sprint(out()); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestScanOfALongFileFindsTheSame(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 100000) + "foo"
	s, _ := memory(t, "foo", map[string]string{"a": strings.Replace(long, "x", "foo", 1)})
	s.Report = func(f Found) {
		if got := fmt.Sprint(f.Matches); got != "[{0 3} {10000002 10000005}]" {
			t.Errorf("got %s", got)
		}
	}
	if n, err := s.Run(context.Background(), send(map[string]string{"a": ""})); n != 1 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	files := map[string]string{"a": "foo"}
	s, _ := memory(t, "foo", files)
	ctx, cancel := context.WithCancel(context.Background())
	s.Report = func(Found) { cancel() }
	names := make(chan []string, 1)
	names <- []string{"a"}
	if _, err := s.Run(ctx, names); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
