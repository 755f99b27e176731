package acp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	wire "dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// A step changes one selector. A nil step has nothing to do: the value is
// current, or the host enforces it.
type step func(ctx context.Context) error

// unavailable is the refusal of a selector that can't be served.
func unavailable(detail string) error {
	return agent.Fail(agent.CodeConfigurationUnavailable, agent.StageConfiguration, detail)
}

// apply sets options in the order model, mode, effort, permission. What isn't
// offered is refused before anything is changed, but for an effort beside
// another model: what models offer differs, so it is judged after the change.
func (c *conn) apply(ctx context.Context, o agent.Options) error {
	settings := []struct {
		word  string
		value *string
	}{
		{wire.CategoryModel, o.Model},
		{wire.CategoryMode, o.Mode},
		{wire.CategoryEffort, o.Effort},
		{wire.CategoryPermission, o.Permission},
	}
	newModel := false
	for _, s := range settings {
		if s.value == nil {
			continue
		}
		change, err := c.resolve(s.word, *s.value)
		if err != nil && !(newModel && s.word == wire.CategoryEffort) {
			return err
		}
		newModel = newModel || s.word == wire.CategoryModel && change != nil
	}
	for _, s := range settings {
		if s.value == nil {
			continue
		}
		change, err := c.resolve(s.word, *s.value)
		if err != nil {
			return err
		}
		if change == nil {
			continue
		}
		if err := change(ctx); err != nil {
			return err
		}
	}
	return nil
}

// resolve finds how a selector is set to value (sidecar.md §5, "Options").
func (c *conn) resolve(word, value string) (step, error) {
	if strings.TrimSpace(value) == "" {
		return nil, unavailable("the value for " + word + " is blank")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if sel, ok := wire.FindSelect(c.state.config, word); ok {
		return c.resolveSelect(sel, value)
	}
	switch word {
	case wire.CategoryModel:
		if models, ok := wire.ReadModels(c.state.models); ok {
			return c.resolveModel(models, value)
		}
	case wire.CategoryMode:
		if modes, ok := wire.ReadModes(c.state.modes); ok {
			return c.resolveMode(modes, value)
		}
	case wire.CategoryPermission:
		if c.plan.enforced != nil && *c.plan.enforced == value {
			return nil, nil
		}
	}
	return nil, unavailable("the agent offers no selector for " + word)
}

func notOffered(value string, offered []string) error {
	return unavailable(fmt.Sprintf("%q is not offered, only %s", value, strings.Join(offered, ", ")))
}

func (c *conn) resolveSelect(sel wire.Select, value string) (step, error) {
	switch {
	case !slices.Contains(sel.Values, value):
		return nil, notOffered(value, sel.Values)
	case sel.Current == value:
		return nil, nil
	}
	return func(ctx context.Context) error {
		return c.setConfig(ctx, sel.ID, "", ndjson.AppendQuote(nil, value))
	}, nil
}

func (c *conn) resolveModel(models wire.Choice, value string) (step, error) {
	id, ok := matchModel(models.IDs, value)
	switch {
	case !ok:
		return nil, notOffered(value, models.IDs)
	case models.Current == id:
		return nil, nil
	}
	return func(ctx context.Context) error { return c.setModel(ctx, id) }, nil
}

// matchModel finds the agent's id for what the host asked, which may be the
// id in its clean form.
func matchModel(ids []string, value string) (string, bool) {
	if slices.Contains(ids, value) {
		return value, true
	}
	for _, id := range ids {
		if wire.CleanID(id) == value {
			return id, true
		}
	}
	return "", false
}

func (c *conn) resolveMode(modes wire.Choice, value string) (step, error) {
	switch {
	case !slices.Contains(modes.IDs, value):
		return nil, notOffered(value, modes.IDs)
	case modes.Current == value:
		return nil, nil
	}
	return func(ctx context.Context) error { return c.setMode(ctx, value) }, nil
}

// setConfig sets a config option; the reply must show it.
func (c *conn) setConfig(ctx context.Context, id, kind string, value []byte) error {
	const stage = wire.MethodSetConfigOption
	result, err := c.call(ctx, stage, stage, wire.SetConfigParams{
		SessionID: c.nativeID(), ConfigID: id, Type: kind, Value: value,
	})
	if err != nil {
		return err
	}
	options := wire.AsObject(result).Get("configOptions")
	if got := currentValue(options, id); !bytes.Equal(got, value) && !sameText(got, value) {
		return agent.Fail(agent.CodeConfigurationRejected, stage,
			fmt.Sprintf("%s is %s after it was set to %s", id, orNone(got), value))
	}
	c.change(func(s *state) { s.config = bytes.Clone(options) })
	return nil
}

// currentValue is the currentValue of the option with that id.
func currentValue(options []byte, id string) []byte {
	list, _ := wire.List(options)
	for _, item := range list {
		if o := wire.AsObject(item); o.Str("id") == id {
			return o.Get("currentValue")
		}
	}
	return nil
}

// sameText compares two JSON strings that may be escaped differently.
func sameText(a, b []byte) bool {
	s, ok := wire.Text(a)
	t, okT := wire.Text(b)
	return ok && okT && s == t
}

func orNone(value []byte) string {
	if value == nil {
		return "unknown"
	}
	return string(value)
}

// setModel chooses from `models`. An empty reply counts as done.
func (c *conn) setModel(ctx context.Context, id string) error {
	const stage = wire.MethodSetModel
	result, err := c.call(ctx, stage, stage, wire.SetModelParams{SessionID: c.nativeID(), ModelID: id})
	if err != nil {
		return err
	}
	reply := wire.AsObject(result)
	if reply == nil && string(result) != "null" {
		return agent.Fail(agent.CodeProtocolError, stage, "the reply is not an object")
	}
	models := reply.Get("models")
	if models == nil {
		c.change(func(s *state) { s.setModel(id) })
		return nil
	}
	current, ok := wire.AsObject(models).Text("currentModelId")
	switch {
	case !ok:
		return agent.Fail(agent.CodeProtocolError, stage, "the reply has no currentModelId")
	case current != id:
		return agent.Fail(agent.CodeConfigurationRejected, stage,
			fmt.Sprintf("the model is %q after it was set to %q", current, id))
	}
	c.change(func(s *state) {
		if _, ok := wire.ReadModels(models); ok {
			s.models = bytes.Clone(models)
		} else {
			s.setModel(id)
		}
	})
	return nil
}

func (c *conn) setMode(ctx context.Context, id string) error {
	const stage = wire.MethodSetMode
	if _, err := c.call(ctx, stage, stage, wire.SetModeParams{SessionID: c.nativeID(), ModeID: id}); err != nil {
		return err
	}
	c.change(func(s *state) { s.setMode(id) })
	return nil
}

// change changes the state and says so.
func (c *conn) change(f func(*state)) {
	c.mu.Lock()
	f(&c.state)
	c.mu.Unlock()
	c.l.Sink.Changed()
}

// CheckTurn refuses a turn's selectors that can't be served now.
func (c *conn) CheckTurn(o agent.Options) error {
	model := false
	if o.Model != nil {
		change, err := c.resolve(wire.CategoryModel, *o.Model)
		if err != nil {
			return err
		}
		model = change != nil
	}
	if o.Effort == nil {
		return nil
	}
	if _, err := c.resolve(wire.CategoryEffort, *o.Effort); err != nil && !model {
		return err
	}
	return nil
}

// Configure changes options of the open session, and config options by the
// agent's ids: a text for a select, true or false for a toggle.
func (c *conn) Configure(ctx context.Context, o agent.Options, config map[string][]byte) error {
	ids := make([]string, 0, len(config))
	for id, value := range config {
		if _, _, err := c.resolveConfig(id, value); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if err := c.apply(ctx, o); err != nil {
		return err
	}
	for _, id := range ids {
		kind, current, err := c.resolveConfig(id, config[id])
		if err != nil {
			return err
		}
		if current {
			continue
		}
		if err := c.setConfig(ctx, id, kind, config[id]); err != nil {
			return err
		}
	}
	return nil
}

// resolveConfig checks a value for a config option; kind is its `type` on the
// wire, current whether it has that value already.
func (c *conn) resolveConfig(id string, value []byte) (kind string, current bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sel, ok := wire.SelectByID(c.state.config, id); ok {
		text, isText := wire.Text(value)
		if !isText || !slices.Contains(sel.Values, text) {
			return "", false, notOffered(string(value), sel.Values)
		}
		return "", sel.Current == text, nil
	}
	now := string(currentValue(c.state.config, id))
	if now != "true" && now != "false" {
		return "", false, unavailable("the agent has no config option " + id)
	}
	if s := string(value); s != "true" && s != "false" {
		return "", false, notOffered(s, []string{"true", "false"})
	}
	return "boolean", now == string(value), nil
}

// Fork copies the session where the agent can.
func (c *conn) Fork(ctx context.Context) (string, error) {
	const stage = wire.MethodFork
	if !c.agent.Offers("sessionCapabilities", "fork") {
		return "", agent.Fail(agent.CodeResumeUnsupported, stage, "the agent can't fork a session")
	}
	result, err := c.call(ctx, stage, stage, wire.SessionParams{
		SessionID: c.nativeID(), Dir: c.l.Dir, MCPServers: c.plan.servers,
	})
	if err != nil {
		return "", err
	}
	id, ok := wire.AsObject(result).Text("sessionId")
	if !ok {
		return "", agent.Fail(agent.CodeProtocolError, stage, "the reply has no sessionId")
	}
	return id, nil
}
