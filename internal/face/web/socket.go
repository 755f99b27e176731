package web

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// A Socket is a WebSocket as a connection of lines: a text frame is one
// message (core.md §3). It is both sides that the core's face needs.
type Socket struct {
	ws     *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc

	rest []byte // of the frame that is being read

	mu    sync.Mutex
	timer *time.Timer
}

// NewSocket wraps a WebSocket; lines may have up to maxLine bytes.
func NewSocket(ws *websocket.Conn, maxLine int64) *Socket {
	ws.SetReadLimit(maxLine + 1)
	s := &Socket{ws: ws}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Read reads frames as lines. Line ends inside a frame are JSON's white
// space, and become blanks.
func (s *Socket) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		kind, data, err := s.ws.Read(s.ctx)
		if err != nil {
			return 0, io.EOF
		}
		if kind != websocket.MessageText {
			s.ws.Close(websocket.StatusUnsupportedData, "text frames only")
			return 0, io.EOF
		}
		s.rest = append(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")), '\n')
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// WriteBatch writes each line as one frame.
func (s *Socket) WriteBatch(bufs net.Buffers) error {
	for _, b := range bufs {
		for line := range bytes.Lines(b) {
			if err := s.ws.Write(s.ctx, websocket.MessageText, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return err
			}
		}
	}
	return nil
}

// SetWriteDeadline ends the connection at t.
func (s *Socket) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(time.Until(t), s.cancel)
	return nil
}

// Close ends the connection; what was written before is sent.
func (s *Socket) Close() error {
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	err := s.ws.Close(websocket.StatusNormalClosure, "")
	s.cancel()
	return err
}
