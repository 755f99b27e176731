package pi

import (
	"context"
	"maps"
	"slices"

	"dragoman/internal/lane/native"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// configModel is the id of the model among what Configure sets.
const configModel = "model"

// CheckTurn refuses a turn's selectors.
func (c *conn) CheckTurn(o agent.Options) error {
	if err := can.CheckTurn(o); err != nil {
		return err
	}
	return c.offered(agent.StageTurnConfig, o)
}

// Configure changes the model and the effort, also by the config values model
// and thought_level.
func (c *conn) Configure(ctx context.Context, o agent.Options, config map[string][]byte) error {
	const stage = agent.StageConfiguration
	for _, id := range slices.Sorted(maps.Keys(config)) {
		text, ok := acp.Text(config[id])
		switch {
		case ok && id == configModel:
			o.Model = &text
		case ok && id == configEffort:
			o.Effort = &text
		default:
			return agent.Fail(agent.CodeConfigurationUnavailable, stage, "there is no config option "+id+" that takes this value")
		}
	}
	if err := can.CheckOpen(o); err != nil {
		return err
	}
	ctx, cancel := native.Within(ctx, "the answer", c.l.ConnectTimeout)
	defer cancel()
	return native.OpenError(c.apply(ctx, stage, o))
}
