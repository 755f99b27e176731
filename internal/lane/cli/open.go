package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

const stageOpen = "cli/open"

// maxSessionID is the longest session id in bytes that openArgs may print.
const maxSessionID = 4 << 10

// StartsLate: nothing runs before the first prompt, or openArgs.
func (p *spec) StartsLate() bool { return true }

// Open starts nothing, unless openArgs asks the agent for a session id.
func (p *spec) Open(ctx context.Context, l lane.Launch) (lane.Conn, error) {
	c := newConn(p, l)
	if c.binding != "" || len(p.openArgs) == 0 {
		return c, nil
	}
	if err := c.askID(ctx); err != nil {
		if cleanup := c.Close(context.WithoutCancel(ctx)); cleanup != nil {
			return nil, cleanup
		}
		return nil, err
	}
	return c, nil
}

// askID runs openArgs and binds what they print.
func (c *conn) askID(ctx context.Context) error {
	if c.launch.OpenTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.launch.OpenTimeout)
		defer cancel()
	}
	var line firstLine
	end, err := c.run(ctx, c.spec.openCall(c.launch.Dir), c.launch.Env, &line, nil)
	switch {
	case err != nil:
		return err
	case end.closed:
		return agent.Fail(agent.CodeSessionOpenFailed, stageOpen, "the agent was ended before it gave a session id: "+context.Cause(ctx).Error())
	case end.failed():
		return agent.Fail(agent.CodeSessionOpenFailed, stageOpen, end.String())
	}
	id, ok := line.text()
	switch {
	case !ok:
		return agent.Fail(agent.CodeSessionIDTooLarge, stageOpen, fmt.Sprintf("the session id is over the limit of %d bytes", maxSessionID))
	case id == "":
		return agent.Fail(agent.CodeSessionIDMissing, stageOpen, "the agent printed no session id")
	}
	c.bind(id)
	return nil
}

// firstLine keeps the first line that isn't blank of what is written to it,
// and no more than it needs to see that the line is too long.
type firstLine struct {
	line []byte
	done bool
}

func (f *firstLine) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !f.done {
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(f.line) == 0 {
			part = bytes.TrimLeft(part, " \t\r")
		}
		f.line = append(f.line, part...)
		f.done = len(f.line) > 0 && ended || len(f.line) > maxSessionID+2
		p = rest
	}
	return n, nil
}

// text is the line without blanks around it; ok is false if it is too long.
func (f *firstLine) text() (id string, ok bool) {
	id = strings.ToValidUTF8(strings.TrimSpace(string(f.line)), "\ufffd")
	return id, len(id) <= maxSessionID
}
