package pi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"dragoman/internal/lane/native"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// open learns the session's state and applies the options.
func (c *conn) open(ctx context.Context) error {
	// What is emitted in the open must not outlast its context.
	defer context.AfterFunc(ctx, c.session.Mute)()
	ctx, cancel := native.Within(ctx, "the open", c.l.OpenTimeout)
	defer cancel()
	if err := c.hello(ctx); err != nil {
		return native.OpenError(err)
	}
	if err := c.resume(ctx); err != nil {
		return native.OpenError(err)
	}
	if err := c.guarded(); err != nil {
		return err
	}
	if err := c.offers(ctx); err != nil {
		return native.OpenError(err)
	}
	return native.OpenError(c.apply(ctx, agent.StageConfiguration, c.l.Options))
}

// hello asks for the state, the first answer of all.
func (c *conn) hello(ctx context.Context) error {
	ctx, cancel := native.Within(ctx, "the first answer", c.l.ConnectTimeout)
	defer cancel()
	return c.ask(ctx)
}

// ask asks for the state.
func (c *conn) ask(ctx context.Context) error {
	data, err := c.call(ctx, agent.StageOpen, command{Type: "get_state"})
	if err != nil {
		return err
	}
	c.change(func(s *state) { s.take(data) })
	return nil
}

// resume switches to the session of a file, and checks that the session is
// the one that was asked for: pi makes a new one of a name that it doesn't
// know.
func (c *conn) resume(ctx context.Context) error {
	id := c.l.Resume
	if id == "" {
		return nil
	}
	if isFile(id) {
		if _, err := os.Stat(id); err != nil {
			return notResumed("there is no session file: " + err.Error())
		}
		var refused *refusal
		data, err := c.call(ctx, agent.StageResume, command{Type: "switch_session", Path: id})
		switch {
		case errors.As(err, &refused):
			return notResumed(refused.Error())
		case err != nil:
			return err
		case data.True("cancelled"):
			return notResumed("an extension called the switch off")
		}
		if err := c.ask(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.file != id && c.state.id != id {
		return notResumed("the agent has opened another session, " + c.state.id)
	}
	return nil
}

func notResumed(detail string) *agent.Error {
	return agent.Fail(agent.CodeSessionOpenFailed, agent.StageResume, detail)
}

// guarded refuses a pi that would run everything unasked though it was to ask.
func (c *conn) guarded() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan.gate && !c.state.gated {
		return agent.Fail(agent.CodeConfigurationRejected, agent.StageConfiguration, "the permission extension was not loaded; gate:false opens pi without it")
	}
	return nil
}

// offers asks for models, thinking levels and commands. A release that lacks
// a command offers nothing there.
func (c *conn) offers(ctx context.Context) error {
	models, err := c.optional(ctx, "get_available_models")
	if err != nil {
		return err
	}
	c.change(func(s *state) { s.models = readModels(models) })
	if err := c.askLevels(ctx, agent.StageOpen); err != nil {
		return err
	}
	commands, err := c.optional(ctx, "get_commands")
	if value := readCommands(commands); err == nil && value != nil {
		c.session.Handle(func() {
			c.session.Emit(c.session.Outside(), &agent.Event{Kind: agent.KindCommands, Value: value, Raw: commands})
		})
	}
	return err
}

// optional calls a command that may not be there.
func (c *conn) optional(ctx context.Context, name string) (acp.Object, error) {
	data, err := c.call(ctx, agent.StageOpen, command{Type: name})
	var refused *refusal
	if errors.As(err, &refused) {
		c.log().Debug(name, "error", refused)
		return nil, nil
	}
	return data, err
}

// askLevels asks for the thinking levels of the current model.
func (c *conn) askLevels(ctx context.Context, stage string) error {
	data, err := c.call(ctx, stage, command{Type: "get_available_thinking_levels"})
	var refused *refusal
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	var levels []string
	list, _ := data.List("levels")
	for _, item := range list {
		if level, ok := acp.Text(item); ok {
			levels = append(levels, level)
		}
	}
	c.change(func(s *state) { s.levels = levels })
	return nil
}

// acpCommand is one of ACP's availableCommands.
type acpCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// readCommands reads the answer to get_commands; nil if there are none.
func readCommands(data acp.Object) []byte {
	list, ok := data.List("commands")
	if !ok {
		return nil
	}
	commands := []acpCommand{}
	for _, item := range list {
		if o := acp.AsObject(item); o.Str("name") != "" {
			commands = append(commands, acpCommand{o.Str("name"), o.Str("description")})
		}
	}
	b, err := json.Marshal(commands)
	if err != nil {
		return nil
	}
	return b
}

// apply sets the model, then the effort, and checks what comes back. Values
// that aren't offered are refused before anything changes.
func (c *conn) apply(ctx context.Context, stage string, o agent.Options) error {
	if err := c.offered(stage, o); err != nil {
		return err
	}
	if o.Model != nil {
		if err := c.setModel(ctx, stage, *o.Model); err != nil {
			return err
		}
	}
	if o.Effort != nil {
		return c.setEffort(ctx, stage, *o.Effort)
	}
	return nil
}

// offered refuses models and efforts that aren't offered. What efforts
// another model has is known once it is set.
func (c *conn) offered(stage string, o agent.Options) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Model != nil {
		if _, ok := c.state.find(*o.Model); !ok {
			return agent.Fail(agent.CodeModelUnsupported, stage, "the model "+*o.Model+" is not offered, only "+c.state.offered())
		}
	}
	if o.Model == nil && c.state.levels != nil {
		return checkEffort(o.Effort, c.state.levels, stage)
	}
	return checkEffort(o.Effort, efforts, stage)
}

// setModel switches the model.
func (c *conn) setModel(ctx context.Context, stage, name string) error {
	c.mu.Lock()
	full, _ := c.state.find(name)
	same := full == c.state.model
	c.mu.Unlock()
	if same {
		return nil
	}
	provider, id, _ := strings.Cut(full, "/")
	data, err := c.call(ctx, stage, command{Type: "set_model", Provider: provider, ModelID: id})
	if err != nil {
		return rejected(stage, err)
	}
	if got := modelName(data); data != nil && got != full {
		return agent.Fail(agent.CodeConfigurationRejected, stage, fmt.Sprintf("the model is %q after it was set to %q", got, full))
	}
	c.change(func(s *state) { s.takeModel(data); s.model = full })
	return c.askLevels(ctx, stage)
}

// setEffort sets the thinking level. pi takes any and uses the next that the
// model has; so one that it hasn't is refused here.
func (c *conn) setEffort(ctx context.Context, stage, level string) error {
	c.mu.Lock()
	levels, same := c.state.levels, c.state.level == level
	c.mu.Unlock()
	if levels != nil && !slices.Contains(levels, level) {
		return checkEffort(&level, levels, stage)
	}
	if same {
		return nil
	}
	if _, err := c.call(ctx, stage, command{Type: "set_thinking_level", Level: level}); err != nil {
		return rejected(stage, err)
	}
	if err := c.ask(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	got := c.state.level
	c.mu.Unlock()
	if got != "" && got != level {
		return agent.Fail(agent.CodeConfigurationRejected, stage, fmt.Sprintf("the effort is %q after it was set to %q", got, level))
	}
	return nil
}

// rejected makes an error of a refused command.
func rejected(stage string, err error) error {
	var refused *refusal
	if errors.As(err, &refused) {
		return agent.Fail(agent.CodeConfigurationRejected, stage, refused.Error())
	}
	return err
}
