package pi

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/internal/lane/native"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A command is a line to pi. Members that a type doesn't have are absent.
type command struct {
	ID       string  `json:"id,omitzero"`
	Type     string  `json:"type"`
	Message  string  `json:"message,omitzero"`
	Images   []image `json:"images,omitempty"`
	Provider string  `json:"provider,omitzero"`
	ModelID  string  `json:"modelId,omitzero"`
	Level    string  `json:"level,omitzero"`
	Path     string  `json:"sessionPath,omitzero"`
}

type image struct {
	Type     string `json:"type"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
}

// write sends one line. Characters that some readers take for an end of line
// are escaped.
func (c *conn) write(message any) error {
	line, err := json.Marshal(message, jsontext.AllowInvalidUTF8(true), jsontext.EscapeForJS(true))
	if err != nil {
		return err
	}
	return c.writer.Write(line)
}

// send sends a command. answered is called with its response, on the reading
// goroutine; it may be nil.
func (c *conn) send(m command, answered func(reply acp.Object)) (id string, err error) {
	c.mu.Lock()
	c.next++
	m.ID = "dragoman-" + strconv.Itoa(c.next)
	c.pending[m.ID] = answered
	c.mu.Unlock()
	if err := c.write(m); err != nil {
		c.forget(m.ID)
		return m.ID, err
	}
	return m.ID, nil
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// responded takes a response. One that we don't wait for is kept raw.
func (c *conn) responded(record acp.Object) {
	id := record.Str("id")
	c.mu.Lock()
	answered, ok := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	switch {
	case !ok:
		c.session.Raw(c.session.Current(), record)
	case answered != nil:
		answered(record)
	}
}

// refused is what a response says of its failure, "" for a success.
func refused(reply acp.Object) string {
	if string(reply.Get("success")) != "false" {
		return ""
	}
	if text := reply.Str("error"); text != "" {
		return text
	}
	return "refused"
}

// A refusal is a failed command.
type refusal struct{ command, text string }

func (e *refusal) Error() string { return e.command + ": " + e.text }

// call sends a command and waits for the data of its response. Its error is a
// [*refusal], an [*agent.Error] or ctx's cause.
func (c *conn) call(ctx context.Context, stage string, m command) (acp.Object, error) {
	answer := make(chan acp.Object, 1)
	id, err := c.send(m, func(reply acp.Object) { answer <- reply })
	if err != nil {
		return nil, c.lost(ctx, stage)
	}
	select {
	case reply := <-answer:
		if text := refused(reply); text != "" {
			return nil, &refusal{m.Type, text}
		}
		return reply.Object("data"), nil
	case <-c.session.Severed():
		return nil, c.lost(ctx, stage)
	case <-ctx.Done():
		c.forget(id)
		return nil, context.Cause(ctx)
	}
}

// lost is the error of a session whose agent is gone.
func (c *conn) lost(ctx context.Context, stage string) *agent.Error {
	if c.session.Closing() {
		return native.Closed()
	}
	return agent.Fail(agent.CodeProtocolFailed, stage, lane.Ending(ctx, c.process))
}

// A dialect is the conn as package native sees it.
type dialect struct{ c *conn }

// Prepare sets the turn's model and effort.
func (d dialect) Prepare(ctx context.Context, t lane.Turn) error {
	return d.c.apply(ctx, agent.StageTurnConfig, agent.Options{Model: t.Options.Model, Effort: t.Options.Effort})
}

// Send sends the prompt. That it was accepted doesn't end anything.
func (d dialect) Send(ctx context.Context, t lane.Turn) error {
	m := command{Type: "prompt", Message: t.Text}
	for _, a := range t.Attachments {
		if a.Type == "image" && len(a.Data) > 0 {
			m.Images = append(m.Images, image{"image", base64.StdEncoding.EncodeToString(a.Data), a.MimeType})
		}
	}
	turn := d.c.session.Current()
	if _, err := d.c.send(m, func(reply acp.Object) { d.c.accepted(turn, reply) }); err != nil {
		return d.c.lost(ctx, agent.StagePrompt)
	}
	return nil
}

// accepted takes the response to a prompt: a refused one, and one that a
// command of pi's dealt with, ends its turn.
func (c *conn) accepted(t *native.Turn, reply acp.Object) {
	if text := refused(reply); text != "" {
		t.End(c.failed(t, text))
		return
	}
	if reply.Object("data").Str("disposition") == "handled" {
		t.End(agent.Outcome{StopReason: agent.StopEndTurn}, nil)
	}
}

// Interrupt aborts the run.
func (d dialect) Interrupt() {
	if _, err := d.c.send(command{Type: "abort"}, nil); err != nil {
		d.c.log().Debug("abort", "error", err)
	}
}

// Lost is the error of a session whose agent is gone.
func (d dialect) Lost(ctx context.Context, stage string) *agent.Error { return d.c.lost(ctx, stage) }
