package envelope

import (
	"context"
	"errors"
	"io"
	"os"

	"dragoman/envelope/host"
	"dragoman/internal/lane"
)

// Link is a supervised process as what an envelope host talks to.
func Link(p lane.Process) host.Link { return link{p} }

type link struct{ lane.Process }

func (l link) Read(b []byte) (int, error) {
	n, err := l.Stdout().Read(b)
	if errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

func (l link) Write(b []byte) (int, error) { return l.Stdin().Write(b) }

// Status waits a moment for the exit.
func (l link) Status() string { return lane.Ending(context.Background(), l.Process) }
