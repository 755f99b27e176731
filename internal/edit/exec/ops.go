package exec

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Pages of exec.readOutput in bytes.
const (
	defaultPage = 1 << 20
	maxPage     = 8 << 20
)

func (s *Space) write(ctx context.Context, _ op.Call, p core.ExecWriteParams) (core.None, error) {
	x, err := s.find(ctx, p.Run)
	if err != nil {
		return core.None{}, err
	}
	if _, ended := x.endedAt(); ended {
		return core.None{}, op.NotFound("process", p.Run)
	}
	if x.in == nil {
		return core.None{}, op.Unsupported("run %q has no open input", p.Run)
	}
	return core.None{}, x.in.push(core.BytesOrText{Text: p.Text, Base64: p.Base64}.Bytes(), p.EOF)
}

func (s *Space) resize(ctx context.Context, _ op.Call, p core.ExecResizeParams) (core.None, error) {
	if p.Cols == 0 || p.Rows == 0 {
		return core.None{}, op.BadRequest("cols", op.ReasonOutOfRange)
	}
	child, err := s.child(ctx, p.Run)
	if err != nil {
		return core.None{}, err
	}
	err = child.Resize(proc.Size{Rows: p.Rows, Cols: p.Cols})
	switch {
	case err == nil:
		return core.None{}, nil
	case errors.Is(err, proc.ErrNoTerminal):
		return core.None{}, op.Unsupported("run %q has no terminal", p.Run)
	}
	return core.None{}, op.IO(err, p.Run)
}

func (s *Space) signal(ctx context.Context, _ op.Call, p core.ExecSignalParams) (core.None, error) {
	child, err := s.child(ctx, p.Run)
	if err != nil {
		return core.None{}, err
	}
	var errno syscall.Errno
	err = child.Signal(p.Signal)
	switch {
	case err == nil:
		return core.None{}, nil
	case errors.Is(err, os.ErrProcessDone):
		return core.None{}, op.NotFound("process", p.Run)
	case errors.As(err, &errno):
		return core.None{}, op.IO(err, p.Run)
	}
	return core.None{}, op.BadRequest("signal", op.ReasonNotOneOf)
}

func (s *Space) child(ctx context.Context, run string) (*proc.Process, error) {
	x, err := s.find(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.running(ctx)
}

func (s *Space) list(context.Context, op.Call, core.None) (core.ExecListResult, error) {
	s.mu.Lock()
	s.expireLocked()
	order := slices.Clone(s.order)
	s.mu.Unlock()
	r := core.ExecListResult{Runs: make([]core.ExecInfo, 0, len(order))}
	for _, x := range order {
		r.Runs = append(r.Runs, x.info())
	}
	return r, nil
}

func (s *Space) readOutput(ctx context.Context, _ op.Call, p core.ExecReadOutputParams) (r core.ExecReadOutputResult, err error) {
	page := int64(defaultPage)
	if p.MaxBytes != nil {
		if *p.MaxBytes < 1 {
			return r, op.BadRequest("maxBytes", op.ReasonOutOfRange)
		}
		page = min(*p.MaxBytes, maxPage)
	}
	ended, size := true, int64(-1)
	x, err := s.find(ctx, p.Run)
	if err == nil {
		st, ok := x.stream(p.Stream)
		if !ok {
			return r, op.NotFound("stream", string(p.Stream))
		}
		// In this order: what is kept when it has ended is all.
		_, over := x.endedAt()
		ended = over || st.ended()
		size = st.kept.Load()
	} else if ctx.Err() != nil {
		return r, err
	}
	f, err := s.logs.open(p.Run, p.Stream)
	if errors.Is(err, fs.ErrNotExist) {
		if size == 0 { // nothing was started, or not yet
			return readPage(nil, p.From, 0, page, ended)
		}
		return r, op.NotFound("run", p.Run)
	}
	if err != nil {
		return r, op.IO(err, "the log of the output")
	}
	defer f.Close()
	if size < 0 {
		info, err := f.Stat()
		if err != nil {
			return r, op.IO(err, "the log of the output")
		}
		size = info.Size()
	}
	return readPage(f, p.From, size, page, ended)
}

// readPage reads a page of a log of that size, which ends at a character
// where it is text.
func readPage(f io.ReaderAt, from, size, page int64, ended bool) (r core.ExecReadOutputResult, err error) {
	if from < 0 || from > size {
		return r, op.BadRequest("from", op.ReasonOutOfRange)
	}
	b := make([]byte, min(page, size-from))
	if len(b) > 0 {
		if _, err := f.ReadAt(b, from); err != nil {
			return r, op.IO(err, "the log of the output")
		}
	}
	atEnd := ended && from+int64(len(b)) == size
	if cut := partial(b); cut > 0 && cut < len(b) && !atEnd {
		b = b[:len(b)-cut]
	}
	r = core.ExecReadOutputResult{From: from, Next: from + int64(len(b))}
	r.EOF = ended && r.Next == size
	r.Text, r.Base64 = content(b)
	return r, nil
}
