package core

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"dragoman/wire/core"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// Limits of a connection that hasn't shown its token (core.md §3).
const (
	maxFirstLine   = 4 << 10
	firstLineWait  = 5 * time.Second
	refusedLinger  = time.Second
	maxUnknownPeer = 64
)

// errRefused ends a connection without a good token.
var errRefused = errors.New("no good token")

// authenticate reads the first line, which must be session.hello with a
// good token, and returns the input from its start.
func (c *conn) authenticate(in io.Reader) (io.Reader, error) {
	if c.peer.Settled != nil {
		defer c.peer.Settled()
	}
	late := time.AfterFunc(firstLineWait, func() { c.client.Finish(goodbye) })
	head, err := readFirstLine(in)
	if err != nil || !late.Stop() {
		c.refuse(core.NullID)
		return nil, errRefused
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	id, token, ok := helloToken(line)
	if !ok {
		c.refuse(id)
		return nil, errRefused
	}
	access, ok := c.peer.Authenticate(token)
	if !ok {
		c.refuse(id)
		return nil, errRefused
	}
	c.peer.Access = access
	return io.MultiReader(bytes.NewReader(head), in), nil
}

// refuse answers unauthorized and closes after a while, so that guessing is
// slow.
func (c *conn) refuse(id []byte) {
	c.client.Send(errorLine(id, op.Fail(op.CodeUnauthorized, "the first line must be session.hello with a token that is known")))
	wait, cancel := context.WithTimeout(c.ctx, refusedLinger)
	defer cancel()
	<-wait.Done()
}

// readFirstLine reads up to the first LF and what came with it.
func readFirstLine(in io.Reader) ([]byte, error) {
	buf := make([]byte, 0, maxFirstLine)
	for len(buf) < cap(buf) {
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if bytes.IndexByte(buf, '\n') >= 0 {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errRefused
}

// helloToken takes the token out of a hello.
func helloToken(line []byte) (id []byte, token string, ok bool) {
	line = bytes.TrimPrefix(bytes.TrimSuffix(line, []byte("\r")), []byte("\xef\xbb\xbf"))
	var s ndjson.Scanner
	s.Limits.Depth = core.MaxDepth
	if s.Scan(line) != nil {
		return core.NullID, "", false
	}
	r, err := core.ParseRequest(&s, line)
	if err != nil || r.Op != core.SessionHello.Name {
		return r.ID, "", false
	}
	p, err := core.SessionHello.Decode(r.Params)
	if err != nil {
		return r.ID, "", false
	}
	return r.ID, p.Token, p.Token != ""
}
