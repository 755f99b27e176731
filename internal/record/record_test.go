package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/internal/lane"
)

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

var stamp = regexp.MustCompile(`"t":[0-9.]+,`)

func (b *buffer) lines() string { return stamp.ReplaceAllString(b.String(), "") }

func TestLines(t *testing.T) {
	var out buffer
	r := New(&out, []string{"hunter2-long"})
	for _, piece := range []string{`{"a":`, "1}\r\nplain \xff\n", "\n", `{"key":"hunter2-long"}` + "\n", "no end"} {
		r.Bytes(FromAgent, []byte(piece))
	}
	r.Bytes(ToAgent, []byte("[1]\n"))
	r.Note([]byte(`{"note":"x"}`))
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	r.Bytes(ToAgent, []byte("late\n"))
	want := `{"dir":"<","msg":{"a":1}}
{"dir":"<","raw":"plain ` + "\ufffd" + `"}
{"dir":"<","raw":""}
{"dir":"<","msg":{"key":"[REDACTED]"}}
{"dir":">","msg":[1]}
{"dir":"#","msg":{"note":"x"}}
{"dir":"<","raw":"no end"}
`
	if got := out.lines(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLongLineIsCut(t *testing.T) {
	var out buffer
	r := New(&out, nil)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 20 {
		r.Bytes(FromAgent, chunk)
	}
	_ = r.Close()
	if n := strings.Count(out.String(), "x"); n != 20<<20 {
		t.Errorf("%d of %d bytes are recorded", n, 20<<20)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines", n)
	}
}

// fakeStarter starts a process that is two strings.
type fakeStarter struct{ p *fakeProcess }

func (s fakeStarter) Start(context.Context, lane.Command) (lane.Process, error) {
	if s.p == nil {
		return nil, errors.New("not found")
	}
	return s.p, nil
}

type fakeProcess struct {
	lane.Process
	in  *buffer
	out io.Reader
}

func (p *fakeProcess) Stdin() io.WriteCloser { return p.in }
func (p *fakeProcess) Stdout() io.Reader     { return p.out }
func (p *fakeProcess) PID() int              { return 7 }
func (p *fakeProcess) Status() lane.ExitStatus {
	return lane.ExitStatus{Code: -1, Signal: "SIGKILL"}
}
func (p *fakeProcess) End(context.Context) error { return nil }

func TestStarter(t *testing.T) {
	dir := t.TempDir()
	s := &Starter{Starter: fakeStarter{&fakeProcess{in: &buffer{}, out: strings.NewReader("{\"b\":\"tok-en-value\"}\n")}}, Dir: dir, Log: slog.New(slog.DiscardHandler)}
	p, err := s.Start(t.Context(), lane.Command{Program: "/bin/agent", Args: []string{"--key", "sec-ret-value"}, Dir: "/w", Env: []string{"A_TOKEN=tok-en-value"}, SecretValues: []string{"sec-ret-value"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(p.Stdout()); err != nil {
		t.Fatal(err)
	}
	if err := p.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "001-agent-7.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"dir":"#","msg":{"note":"start","argv":["/bin/agent","--key","[REDACTED]"],"cwd":"/w"}}
{"dir":">","raw":"hello"}
{"dir":"<","msg":{"b":"[REDACTED]"}}
{"dir":"#","msg":{"note":"end","code":-1,"signal":"SIGKILL"}}
`
	if got := stamp.ReplaceAllString(string(data), ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRecordingThatFails(t *testing.T) {
	p := &fakeProcess{in: &buffer{}}
	s := &Starter{Starter: fakeStarter{p}, Dir: "/nonexistent/dir", Log: slog.New(slog.DiscardHandler)}
	if got, err := s.Start(t.Context(), lane.Command{}); err != nil || got != p {
		t.Errorf("got %v, %v", got, err)
	}
	s = &Starter{Starter: fakeStarter{}}
	if _, err := s.Start(t.Context(), lane.Command{}); err == nil {
		t.Error("a failed start succeeds")
	}
}
