package claude

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// Ids of what Configure sets beside the options.
const (
	configModel    = "model"
	configMode     = "mode"
	configThinking = "thinking"
)

// CheckTurn refuses a turn's selectors. The effort is a flag, so that a turn
// can only have the session's.
func (c *conn) CheckTurn(o agent.Options) error {
	if err := can.CheckTurn(o); err != nil {
		return err
	}
	return c.checkEffort(agent.StageTurnConfig, o)
}

func (c *conn) checkEffort(stage string, o agent.Options) error {
	if own := c.l.Options.Effort; o.Effort != nil && (own == nil || *own != *o.Effort) {
		return agent.Fail(agent.CodeEffortUnsupported, stage, "the effort is set when the session is opened")
	}
	return nil
}

// Configure changes the model and the permission mode, also while a turn
// runs, and the config values model, mode and thinking (a budget in tokens,
// null for the agent's own).
func (c *conn) Configure(ctx context.Context, o agent.Options, config map[string][]byte) error {
	const stage = agent.StageConfiguration
	budget, err := fold(&o, config)
	if err != nil {
		return err
	}
	for _, check := range []error{can.CheckOpen(o), offered(o, stage), c.checkEffort(stage, o)} {
		if check != nil {
			return check
		}
	}
	ctx, cancel := within(ctx, "the answer", c.l.ConnectTimeout)
	defer cancel()
	if err := c.apply(ctx, stage, o); err != nil {
		return c.opening(err)
	}
	if budget == nil {
		return nil
	}
	if _, err := c.call(ctx, stage, controlRequest{Subtype: controlSetThinking, Thinking: budget}); err != nil {
		return c.opening(err)
	}
	return nil
}

// fold puts config values into the options; a thinking budget is returned, nil
// for none.
func fold(o *agent.Options, config map[string][]byte) (budget []byte, err error) {
	ids := make([]string, 0, len(config))
	for id := range config {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		value := config[id]
		text, isText := acp.Text(value)
		switch {
		case id == configModel && isText:
			o.Model = &text
		case id == configMode && isText:
			o.Mode = &text
		case id == configThinking:
			if budget = value; !isBudget(value) {
				return nil, unavailable("thinking is a number of tokens from 0, or null")
			}
		default:
			return nil, unavailable(fmt.Sprintf("there is no config option %s that takes %s", id, value))
		}
	}
	return budget, nil
}

func isBudget(value []byte) bool {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return string(value) == "null" || err == nil && n >= 0
}

func unavailable(detail string) error {
	return agent.Fail(agent.CodeConfigurationUnavailable, agent.StageConfiguration, detail)
}

// Fork names a copy of the session: resuming it makes the copy, whose own id
// is known after its first turn (docs/decisions/080).
func (c *conn) Fork(context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.native == "" {
		return "", agent.Fail(agent.CodeSessionIDMissing, "session/fork", "a session has no id before its first turn")
	}
	return forkMark + c.native, nil
}
