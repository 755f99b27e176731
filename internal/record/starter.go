package record

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"

	"dragoman/internal/lane"
	"dragoman/internal/redact"
)

// A Starter records every process that it starts, in a file of its own in
// Dir: NNN-PROGRAM-PID.jsonl.
type Starter struct {
	lane.Starter
	Dir string
	Log *slog.Logger
	n   atomic.Int64
}

// Start implements [lane.Starter]. A recording that can't be made is logged;
// the process starts all the same.
func (s *Starter) Start(ctx context.Context, c lane.Command) (lane.Process, error) {
	p, err := s.Starter.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(c.Program), ".exe")
	file := filepath.Join(s.Dir, fmt.Sprintf("%03d-%s-%d.jsonl", s.n.Add(1), name, p.PID()))
	r, err := Create(file, append(redact.Secrets(c.Env), c.SecretValues...))
	if err != nil {
		s.Log.Error("an agent isn't recorded", "file", file, "error", err)
		return p, nil
	}
	r.Note(noteOf(c.Program, c.Args, c.Dir))
	return &process{Process: p, r: r}, nil
}

// process is a child whose streams are recorded.
type process struct {
	lane.Process
	r *Recorder
}

func (p *process) Stdin() io.WriteCloser {
	in := p.Process.Stdin()
	if in == nil {
		return nil
	}
	return stdin{in, p.r}
}

func (p *process) Stdout() io.Reader { return stdout{p.Process.Stdout(), p.r} }

// End implements [lane.Process]. The recording ends with the process.
func (p *process) End(ctx context.Context) error { return p.ended(p.Process.End(ctx)) }

// Kill implements [lane.Process].
func (p *process) Kill(ctx context.Context) error { return p.ended(p.Process.Kill(ctx)) }

func (p *process) ended(err error) error {
	if err == nil {
		p.r.Note(fmt.Appendf(nil, `{"note":"end","code":%d,"signal":%q}`, p.Status().Code, p.Status().Signal))
		_ = p.r.Close()
	}
	return err
}

type stdin struct {
	io.WriteCloser
	r *Recorder
}

func (w stdin) Write(data []byte) (int, error) {
	n, err := w.WriteCloser.Write(data)
	w.r.Bytes(ToAgent, data[:n])
	return n, err
}

type stdout struct {
	io.Reader
	r *Recorder
}

func (s stdout) Read(data []byte) (int, error) {
	n, err := s.Reader.Read(data)
	s.r.Bytes(FromAgent, data[:n])
	return n, err
}
