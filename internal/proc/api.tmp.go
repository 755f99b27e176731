package proc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"dragoman/internal/lane"
)

type Options struct {
	StateDir string
	Log      *slog.Logger
	Grace    time.Duration
}
type Supervisor struct{}

func New(o Options) (*Supervisor, error) { return nil, errors.ErrUnsupported }
func (s *Supervisor) Start(ctx context.Context, c lane.Command) (lane.Process, error) {
	return nil, errors.ErrUnsupported
}
func (s *Supervisor) StartRaw(ctx context.Context, c Command) (*Process, error) {
	return nil, errors.ErrUnsupported
}
func (s *Supervisor) Close(ctx context.Context) error { return nil }

type Process struct{}

func (p *Process) Stdin() io.WriteCloser          { return nil }
func (p *Process) Stdout() io.Reader              { return nil }
func (p *Process) Stderr() io.Reader              { return nil }
func (p *Process) PID() int                       { return 0 }
func (p *Process) Exited() <-chan struct{}        { return nil }
func (p *Process) Status() lane.ExitStatus        { return lane.ExitStatus{} }
func (p *Process) StderrTail() string             { return "" }
func (p *Process) Interrupt() error               { return nil }
func (p *Process) Signal(name string) error       { return nil }
func (p *Process) Resize(size Size) error         { return nil }
func (p *Process) Contains(pid int) bool          { return false }
func (p *Process) End(ctx context.Context) error  { return nil }
func (p *Process) Kill(ctx context.Context) error { return nil }

func Descendants(pid int) ([]int, error)                         { return nil, nil }
func IsDescendant(pid, of int) bool                              { return false }
func StartTime(pid int) (uint64, error)                          { return 0, nil }
func LookPath(program, dir string, env []string) (string, error) { return "", errors.ErrUnsupported }
