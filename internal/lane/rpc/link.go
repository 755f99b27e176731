package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"

	"dragoman/wire/ndjson"

	"github.com/coder/websocket"
)

// Why a connection ended, as a detail says it.
var (
	errPeerClosed = errors.New("peer_closed")
	errOversized  = errors.New("oversized_frame")
)

// A link carries frames. read is called by one goroutine; write is safe for
// concurrent use and doesn't wait for the agent.
type link interface {
	// read returns the next frame, valid until the next call, or
	// errPeerClosed or errOversized.
	read() ([]byte, error)
	write(frame []byte) error
	// close ends both directions.
	close()
}

// stdio is lines over a child's pipes.
type stdio struct {
	in  *ndjson.Reader
	out *ndjson.Writer
	raw io.Closer
}

func newStdio(in io.Reader, out io.WriteCloser, limit int64) *stdio {
	return &stdio{
		in:  ndjson.NewReader(in, ndjson.ReaderOptions{MaxLineBytes: int(limit)}),
		out: ndjson.NewWriter(out, ndjson.WriterOptions{}), raw: out,
	}
}

func (s *stdio) read() ([]byte, error) {
	frame, err := s.in.Next()
	var tooLong *ndjson.LineTooLongError
	switch {
	case errors.As(err, &tooLong):
		return nil, errOversized
	case err != nil:
		return nil, errPeerClosed
	}
	return frame, nil
}

func (s *stdio) write(frame []byte) error {
	if err := s.out.Write(frame); err != nil {
		return errPeerClosed
	}
	return nil
}

func (s *stdio) close() {
	s.raw.Close()
	s.out.Close()
}

// socket is messages over a web-socket. Its writes are queued, so that they
// don't wait.
type socket struct {
	conn   *websocket.Conn
	ctx    context.Context
	stop   context.CancelFunc
	frames *ndjson.Writer
}

func newSocket(conn *websocket.Conn, limit int64) *socket {
	conn.SetReadLimit(limit)
	ctx, stop := context.WithCancel(context.Background())
	s := &socket{conn: conn, ctx: ctx, stop: stop}
	s.frames = ndjson.NewWriter(&frameWriter{socket: s}, ndjson.WriterOptions{})
	return s
}

func (s *socket) read() ([]byte, error) {
	_, frame, err := s.conn.Read(s.ctx)
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		return nil, errOversized
	case err != nil:
		return nil, errPeerClosed
	}
	return frame, nil
}

func (s *socket) write(frame []byte) error {
	if err := s.frames.Write(frame); err != nil {
		return errPeerClosed
	}
	return nil
}

func (s *socket) close() {
	s.stop()
	s.conn.CloseNow()
	s.frames.Close()
}

// frameWriter sends each line as one message.
type frameWriter struct {
	socket *socket
	rest   []byte
}

func (w *frameWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		if err := w.socket.conn.Write(w.socket.ctx, websocket.MessageText, w.rest[:i]); err != nil {
			return 0, err
		}
		w.rest = append(w.rest[:0], w.rest[i+1:]...)
	}
}
