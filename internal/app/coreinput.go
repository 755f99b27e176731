package app

import (
	"io"
	"sync"
)

// A stoppableInput is an input whose reader can be freed: a read of a
// terminal or pipe can't be interrupted, so it is left to a goroutine that
// ends with the process.
type stoppableInput struct {
	pipe *io.PipeReader
	once sync.Once
}

func newStoppableInput(in io.Reader) *stoppableInput {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	return &stoppableInput{pipe: r}
}

// Read reads until the input ends or was stopped.
func (s *stoppableInput) Read(p []byte) (int, error) { return s.pipe.Read(p) }

// stop ends the input.
func (s *stoppableInput) stop() error {
	s.once.Do(func() { s.pipe.CloseWithError(io.EOF) })
	return nil
}
