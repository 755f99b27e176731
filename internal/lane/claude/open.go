package claude

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// greetingWait is how long an open waits for the commands and models. An
// agent that is slower, or knows no initialize, is prompted without them;
// they are told when they come (docs/decisions/080).
const greetingWait = 5 * time.Second

// unknownSession is what Claude Code says of an id that it doesn't have.
const unknownSession = "No conversation found"

// A clockError says which clock ran out.
type clockError struct {
	what  string
	limit time.Duration
}

func (e *clockError) Error() string { return fmt.Sprintf("%s took more than %v", e.what, e.limit) }

// within is ctx with a limit, none for 0.
func within(ctx context.Context, what string, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, &clockError{what, limit})
}

// open greets the agent and applies the options.
func (c *conn) open(ctx context.Context) error {
	// What is emitted in the open must not outlast its context.
	defer context.AfterFunc(ctx, c.mute)()
	ctx, cancel := within(ctx, "the open", c.l.OpenTimeout)
	defer cancel()
	if err := c.hello(ctx); err != nil {
		return c.opening(err)
	}
	ctx, cancel = within(ctx, "the first answer", c.l.ConnectTimeout)
	defer cancel()
	return c.opening(c.apply(ctx, agent.StageConfiguration, c.l.Options))
}

// opening makes an error of what ended the open.
func (c *conn) opening(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*agent.Error); ok {
		if c.l.Resume != "" && strings.Contains(e.Detail, unknownSession) {
			return agent.Fail(agent.CodeSessionOpenFailed, agent.StageResume, e.Detail)
		}
		return err
	}
	return agent.Fail(agent.CodeProtocolFailed, agent.StageOpen, err.Error())
}

// hello asks for commands and models.
func (c *conn) hello(ctx context.Context) error {
	_, answer, err := c.send(controlRequest{Subtype: controlInitialize, Hooks: jsontext.Value("null")})
	if err != nil {
		return c.lost(ctx, agent.StageOpen)
	}
	timer := time.NewTimer(greetingWait)
	defer timer.Stop()
	select {
	case got := <-answer:
		if got.lost {
			return c.lost(ctx, agent.StageOpen)
		}
		if got.fault != "" {
			c.log().Debug("initialize", "error", got.fault)
		}
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// greet takes the answer to initialize.
func (c *conn) greet(record, response acp.Object) {
	c.change(func() { c.state.models = readModels(response) })
	if commands := readCommands(response); commands != nil {
		c.emit(c.outside, &agent.Event{Kind: agent.KindCommands, Value: commands, Raw: record})
	}
}

// apply sets the model and the mode by control requests, and checks what
// comes back.
func (c *conn) apply(ctx context.Context, stage string, o agent.Options) error {
	if o.Model != nil {
		if err := c.setModel(ctx, stage, *o.Model); err != nil {
			return err
		}
	}
	if mode := modeOf(o); mode != "" {
		return c.setMode(ctx, stage, mode)
	}
	return nil
}

// setModel switches the model. The agent may answer with the full name of an
// alias.
func (c *conn) setModel(ctx context.Context, stage, model string) error {
	c.mu.Lock()
	same := c.state.asked == model
	c.mu.Unlock()
	if same {
		return nil
	}
	response, err := c.call(ctx, stage, controlRequest{Subtype: controlSetModel, Model: model})
	if err != nil {
		return err
	}
	c.change(func() {
		c.state.asked, c.state.model = model, model
		if full := response.Str("model"); full != "" {
			c.state.model = full
		}
	})
	return nil
}

// setMode switches the permission mode, also when it seems to be the current
// one: what decides is that the agent says so.
func (c *conn) setMode(ctx context.Context, stage, mode string) error {
	response, err := c.call(ctx, stage, controlRequest{Subtype: controlSetMode, Mode: mode})
	if err != nil {
		return err
	}
	if got, ok := response.Text("mode"); ok && got != mode {
		return agent.Fail(agent.CodeConfigurationRejected, stage, fmt.Sprintf("the mode is %q after it was set to %q", got, mode))
	}
	c.change(func() { c.state.mode = mode })
	return nil
}
