package opencode

import (
	"strings"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A call is what was said of one tool call in this turn.
type call struct {
	agent.ToolCall
	asked bool
	shown string // the output so far
}

// A tool says how a tool's calls are told.
type tool struct {
	kind string
	read func(call *agent.ToolCall, input acp.Object)
}

// tools are OpenCode's own, and names of its permissions. Those of MCP servers
// are kind other.
var tools = map[string]tool{
	"bash":        {"execute", shell},
	"read":        {"read", located},
	"edit":        {"edit", edit},
	"multiedit":   {"edit", edit},
	"write":       {"edit", writing},
	"patch":       {"edit", located},
	"apply_patch": {"edit", located},
	"list":        {"search", titled("path")},
	"glob":        {"search", titled("pattern")},
	"grep":        {"search", titled("pattern")},
	"webfetch":    {"fetch", titled("url")},
	"websearch":   {"fetch", titled("query")},
	"task":        {"think", titled("description")},
	"todowrite":   {"think", titled("")},
	"todoread":    {"think", titled("")},
}

// describe makes the call of a tool's name and input.
func describe(id, name string, input acp.Object) agent.ToolCall {
	c := agent.ToolCall{ID: id, Title: name, Kind: "other", RawInput: input}
	if t, ok := tools[name]; ok {
		c.Kind = t.kind
		t.read(&c, input)
	}
	return c
}

func shell(c *agent.ToolCall, input acp.Object) {
	if command := input.Str("command"); command != "" {
		c.Title, c.Shell = command, command
	}
}

func titled(member string) func(*agent.ToolCall, acp.Object) {
	return func(c *agent.ToolCall, input acp.Object) {
		if text := input.Str(member); text != "" {
			c.Title += " " + text
		}
	}
}

// located says which file a call touches; a permission spells it otherwise.
func located(c *agent.ToolCall, input acp.Object) {
	path := input.Str("filePath")
	if path == "" {
		path = input.Str("filepath")
	}
	if path == "" {
		return
	}
	line, _ := input.Int("offset")
	c.Title += " " + path
	c.Locations = []agent.Location{{Path: path, Line: int(line)}}
}

func edit(c *agent.ToolCall, input acp.Object) {
	located(c, input)
	list, ok := input.List("edits")
	if !ok {
		list = [][]byte{input}
	}
	for _, item := range list {
		o := acp.AsObject(item)
		if before, ok := o.Text("oldString"); ok {
			c.HasContent = true
			c.Content = append(c.Content, agent.ToolContent{Type: "diff", Path: input.Str("filePath"), OldText: &before, NewText: o.Str("newString")})
		}
	}
}

func writing(c *agent.ToolCall, input acp.Object) {
	located(c, input)
	if text, ok := input.Text("content"); ok {
		c.HasContent = true
		c.Content = []agent.ToolContent{{Type: "diff", Path: input.Str("filePath"), NewText: text}}
	}
}

// childPart tells what a child session does.
func (c *conn) childPart(e event) {
	if part := e.props.Object("part"); part.Str("type") == "tool" {
		c.tool(e, part)
		return
	}
	c.keep(e)
}

// statuses are the states of a call by ours.
var statuses = map[string]string{"pending": "pending", "running": "in_progress", "completed": "completed", "error": "failed"}

// tool tells of a call as it stands.
func (c *conn) tool(e event, part acp.Object) {
	r, id, state := c.running(), part.Str("callID"), part.Object("state")
	if id == "" {
		c.keep(e)
		return
	}
	known, kind := r.calls[id], agent.KindToolCallUpdate
	if known == nil {
		known, kind = &call{}, agent.KindToolCall
		r.calls[id] = known
	}
	said := describe(id, part.Str("tool"), state.Object("input"))
	said.Status, said.ParentCallID = statuses[state.Str("status")], c.children[e.session]
	if title := state.Str("title"); title != "" && said.Shell == "" {
		said.Title = title
	}
	if child := state.Object("metadata").Str("sessionId"); child != "" {
		c.children[child] = id
	}
	known.output(&said, state)
	if kind == agent.KindToolCallUpdate && said.Status == "" && said.Append == "" {
		return
	}
	content, has, more := said.Content, said.HasContent, said.Append
	if said.Append = ""; known.Content != nil && known.Kind == "edit" {
		said.Content, said.HasContent = known.Content, true
	}
	known.ToolCall = said
	told := said
	told.Content, told.HasContent, told.Append = content, has, more
	c.session.Emit(r.turn, &agent.Event{Kind: kind, ToolCall: &told, Raw: e.record})
}

// output adds what a state says of the call's output, and of its end.
func (k *call) output(said *agent.ToolCall, state acp.Object) {
	switch said.Status {
	case "in_progress":
		if more, grew := strings.CutPrefix(state.Object("metadata").Str("output"), k.shown); grew {
			said.Append = more
			k.shown += more
		}
		return
	case "completed":
		said.RawOutput = state.Get("output")
	case "failed":
		said.RawOutput = state.Get("error")
	default:
		return
	}
	asked := k.asked
	said.Asked = &asked
	// A diff is worth more than the word that it was applied.
	if text, ok := acp.Text(said.RawOutput); ok && (said.Kind != "edit" || said.Status == "failed") {
		said.HasContent, said.Content = true, []agent.ToolContent{{Type: "text", Text: text}}
	}
}
