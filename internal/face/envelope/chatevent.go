package envelope

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/core"
)

// A chatEvent is a core event in the form of lanes.md §10.
type chatEvent struct {
	name  string
	write func(params []byte) ([]byte, error)
}

// chatEvents are those that the lane knows, by the core's name; others go out
// as they are.
var chatEvents = map[string]chatEvent{
	core.AgentMessage.Name:        {"message", textOf},
	core.AgentThought.Name:        {"thought", textOf},
	core.AgentToolCall.Name:       {"tool", toolOf},
	core.AgentToolCallUpdate.Name: {"tool", toolOf},
	core.AgentUsage.Name:          {"usage", usageOf},
	core.AgentPermission.Name:     {"permission", permissionOf},
}

// through decodes params into a shape and encodes what it holds.
func through[T any](params []byte, shape *T) ([]byte, error) {
	if err := json.Unmarshal(params, shape); err != nil {
		return nil, err
	}
	return json.Marshal(shape)
}

func textOf(params []byte) ([]byte, error) {
	return through(params, &struct {
		Text string `json:"text"`
	}{})
}

func toolOf(params []byte) ([]byte, error) {
	var tool struct {
		ToolCallID string `json:"toolCallId"`
		Title      string `json:"title"`
		ToolKind   string `json:"toolKind"`
		Status     string `json:"status"`
	}
	if err := json.Unmarshal(params, &tool); err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		ToolCallID string `json:"toolCallId"`
		Title      string `json:"title"`
		Kind       string `json:"kind,omitzero"`
		Status     string `json:"status,omitzero"`
	}{tool.ToolCallID, tool.Title, tool.ToolKind, tool.Status})
}

// usageOf lays the counts beside cost and context.
func usageOf(params []byte) ([]byte, error) {
	var report struct {
		Usage   map[string]jsontext.Value `json:"usage"`
		Cost    jsontext.Value            `json:"cost"`
		Context jsontext.Value            `json:"context"`
	}
	if err := json.Unmarshal(params, &report); err != nil {
		return nil, err
	}
	flat := make(map[string]jsontext.Value, len(report.Usage)+2)
	for name, count := range report.Usage {
		flat[name] = count
	}
	if report.Cost != nil {
		flat["cost"] = report.Cost
	}
	if report.Context != nil {
		flat["context"] = report.Context
	}
	return json.Marshal(flat, json.Deterministic(true))
}

func permissionOf(params []byte) ([]byte, error) {
	var q struct {
		Request  string `json:"request"`
		ToolCall struct {
			ToolCallID string `json:"toolCallId"`
			Title      string `json:"title"`
			ToolKind   string `json:"toolKind"`
		} `json:"toolCall"`
		Options []struct {
			OptionID string `json:"optionId"`
			Name     string `json:"name"`
			Kind     string `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		PermissionID string `json:"permissionId"`
		Title        string `json:"title"`
		ToolCallID   string `json:"toolCallId,omitzero"`
		Kind         string `json:"kind,omitzero"`
		Options      any    `json:"options"`
	}{q.Request, q.ToolCall.Title, q.ToolCall.ToolCallID, q.ToolCall.ToolKind, q.Options})
}
