package opencode

import (
	"bytes"
	"context"
	"io"
	"time"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// How a broken stream is taken up again: waits from retryFirst, doubled, to
// retryMost; after retryLimit without a stream the session is given up.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second
	retryLimit = 30 * time.Second
)

// subscribe opens the stream and starts the goroutine that reads it.
func (c *conn) subscribe(ctx context.Context) error {
	// The stream outlives the open; the open can end it as long as it lasts.
	attempt, cancel := context.WithCancel(c.base)
	unhook := context.AfterFunc(ctx, cancel)
	body, err := c.client.stream(attempt)
	if !unhook() || err != nil {
		cancel()
		if err == nil {
			body.Close()
			err = context.Cause(ctx)
		}
		return c.failed(ctx, agent.StageOpen, err)
	}
	c.spawn(func() {
		defer cancel()
		c.follow(body)
		c.session.Sever()
		if !c.session.Closing() {
			c.l.Sink.Changed()
		}
	})
	return nil
}

// follow reads the stream, and takes it up again, until the server is gone or
// the session closes.
func (c *conn) follow(body io.ReadCloser) {
	for body != nil {
		c.read(body)
		body.Close()
		body = c.again()
	}
}

// again subscribes anew and reads what was missed; nil if it is over.
func (c *conn) again() io.ReadCloser {
	deadline := time.NewTimer(retryLimit)
	defer deadline.Stop()
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.gone:
			timer.Stop()
			return nil
		case <-c.base.Done():
			timer.Stop()
			return nil
		case <-deadline.C:
			timer.Stop()
			c.mu.Lock()
			c.broken = "the stream of events broke and can't be taken up again"
			c.mu.Unlock()
			return nil
		}
		body, err := c.client.stream(c.base)
		if err == nil {
			if err = c.catchUp(); err == nil {
				return body
			}
			body.Close()
		}
		c.log().Debug("the stream of events", "error", err)
	}
}

// read handles the events of one stream.
func (c *conn) read(body io.Reader) {
	lines := ndjson.NewReader(body, ndjson.ReaderOptions{})
	var scanner ndjson.Scanner
	for {
		line, err := lines.Next()
		if err != nil {
			if _, long := err.(*ndjson.LineTooLongError); long {
				c.log().Warn("an event of the agent was left out", "error", err)
				continue
			}
			return
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue // the event's name, or a comment
		}
		data = bytes.Clone(bytes.TrimSpace(data))
		if scanner.Scan(data) != nil {
			if data, _, err = ndjson.Repair(nil, data); err != nil {
				c.session.Handle(func() { c.session.RawText(c.session.Current(), line) })
				continue
			}
		}
		c.session.Handle(func() {
			if record := acp.AsObject(data); record != nil {
				c.handle(record)
				return
			}
			c.session.RawText(c.session.Current(), data)
		})
	}
}

// catchUp reads the messages and the open questions again, and whether the
// turn has ended. A part that is still being written is told at its end only:
// which of its pieces to come are in what was read can't be known.
func (c *conn) catchUp() error {
	messages, err := c.client.call(c.base, "GET", c.path("/message"), nil)
	if err != nil {
		return err
	}
	statuses, err := c.client.call(c.base, "GET", "/session/status", nil)
	if err != nil {
		return err
	}
	questions, err := c.client.call(c.base, "GET", "/permission", nil)
	if err != nil {
		return err
	}
	c.session.Handle(func() {
		list, _ := acp.List(messages)
		for _, item := range list {
			c.reread(acp.AsObject(item))
		}
		open, _ := acp.List(questions)
		for _, item := range open {
			c.question(event{record: item, props: item, session: acp.AsObject(item).Str("sessionID")})
		}
		status := object(statuses).Object(c.native)
		if kind := status.Str("type"); status == nil || kind == statusIdle {
			c.idle(event{})
		}
	})
	return nil
}

// reread takes a message that was read again, if it is the turn's.
func (c *conn) reread(message acp.Object) {
	info := message.Object("info")
	c.message(event{record: message, props: acp.Object("{}").Set("info", info), session: c.native})
	r := c.running()
	if r.messages[info.Str("id")] == nil {
		return
	}
	parts, _ := message.List("parts")
	for _, item := range parts {
		part := acp.AsObject(item)
		c.part(event{record: part, session: c.native}, part)
		if part.Object("time").Get("end") == nil {
			c.stale[part.Str("id")] = true
		}
	}
}
