package term

import (
	"bufio"
	"context"
	"io"
)

// A Terminal is a [Person] at an open terminal device, which must be a file
// that Close unblocks (opened by its own name, not inherited).
type Terminal struct {
	device io.ReadWriteCloser
	lines  *bufio.Reader
}

// NewTerminal takes over device until Close.
func NewTerminal(device io.ReadWriteCloser) *Terminal {
	return &Terminal{device: device, lines: bufio.NewReader(device)}
}

// ReadLine prints prompt and reads a line. When ctx ends it closes the
// device, so that the reading goroutine is gone when it returns; nothing can
// be asked afterwards.
func (t *Terminal) ReadLine(ctx context.Context, prompt string) (string, error) {
	if _, err := io.WriteString(t.device, prompt); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { t.device.Close() })
	defer stop()
	line, err := t.lines.ReadString('\n')
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return line, err
}

// Close gives the device back.
func (t *Terminal) Close() error { return t.device.Close() }
