package claude

import (
	"dragoman/wire/acp"
	"dragoman/wire/agent"

	"github.com/go-json-experiment/json"
)

// A call is what was said of one tool call in this turn.
type call struct {
	agent.ToolCall
	asked bool
}

// A tool says how a tool's calls are told: ACP's kind, and what is in its
// input.
type tool struct {
	kind string
	read func(call *agent.ToolCall, input acp.Object)
}

// tools are Claude Code's own. Those of MCP servers are kind other.
var tools = map[string]tool{
	"Bash":            {"execute", shell},
	"BashOutput":      {"execute", nil},
	"KillShell":       {"execute", nil},
	"PowerShell":      {"execute", shell},
	"Read":            {"read", reading},
	"NotebookRead":    {"read", located("notebook_path")},
	"Edit":            {"edit", edit},
	"MultiEdit":       {"edit", multiEdit},
	"Write":           {"edit", writing},
	"NotebookEdit":    {"edit", located("notebook_path")},
	"Grep":            {"search", titled("Grep ", "pattern")},
	"Glob":            {"search", titled("Glob ", "pattern")},
	"LS":              {"search", located("path")},
	"WebFetch":        {"fetch", titled("Fetch ", "url")},
	"WebSearch":       {"fetch", titled("Search ", "query")},
	"Task":            {"think", titled("", "description")},
	"Agent":           {"think", titled("", "description")},
	"TodoWrite":       {"think", nil},
	"EnterPlanMode":   {"switch_mode", nil},
	"ExitPlanMode":    {"switch_mode", planned},
	"AskUserQuestion": {"other", nil},
}

// describe makes the call of a tool's name and input.
func describe(id, name string, input acp.Object) agent.ToolCall {
	c := agent.ToolCall{ID: id, Title: name, Kind: "other", RawInput: input}
	if t, ok := tools[name]; ok {
		c.Kind = t.kind
		if t.read != nil {
			t.read(&c, input)
		}
	}
	return c
}

func titled(prefix, member string) func(*agent.ToolCall, acp.Object) {
	return func(c *agent.ToolCall, input acp.Object) {
		if text := input.Str(member); text != "" {
			c.Title = prefix + text
		}
	}
}

func located(member string) func(*agent.ToolCall, acp.Object) {
	return func(c *agent.ToolCall, input acp.Object) { at(c, input.Str(member), 0) }
}

// at says which file a call touches.
func at(c *agent.ToolCall, path string, line int64) {
	if path != "" {
		c.Title += " " + path
		c.Locations = []agent.Location{{Path: path, Line: int(line)}}
	}
}

func shell(c *agent.ToolCall, input acp.Object) {
	if command := input.Str("command"); command != "" {
		c.Title, c.Shell = command, command
	}
}

func reading(c *agent.ToolCall, input acp.Object) {
	line, _ := input.Int("offset")
	at(c, input.Str("file_path"), line)
}

func edit(c *agent.ToolCall, input acp.Object) {
	path := input.Str("file_path")
	at(c, path, 0)
	diff(c, path, input)
}

func multiEdit(c *agent.ToolCall, input acp.Object) {
	path := input.Str("file_path")
	at(c, path, 0)
	edits, _ := input.List("edits")
	for _, e := range edits {
		diff(c, path, acp.AsObject(e))
	}
}

func diff(c *agent.ToolCall, path string, edit acp.Object) {
	before, ok := edit.Text("old_string")
	if !ok {
		return
	}
	c.HasContent = true
	c.Content = append(c.Content, agent.ToolContent{Type: "diff", Path: path, OldText: &before, NewText: edit.Str("new_string")})
}

func writing(c *agent.ToolCall, input acp.Object) {
	path := input.Str("file_path")
	at(c, path, 0)
	if text, ok := input.Text("content"); ok {
		c.HasContent = true
		c.Content = []agent.ToolContent{{Type: "diff", Path: path, NewText: text}}
	}
}

func planned(c *agent.ToolCall, input acp.Object) {
	if text := input.Str("plan"); text != "" {
		c.HasContent = true
		c.Content = []agent.ToolContent{{Type: "text", Text: text}}
	}
}

// toolUse tells of a call that the model wants.
func (c *conn) toolUse(record, block acp.Object, parent string) {
	id := block.Str("id")
	if id == "" {
		c.emit(c.current(), raw(record))
		return
	}
	input := block.Object("input")
	known := c.calls[id]
	said := describe(id, block.Str("name"), input)
	said.Status, said.ParentCallID = "pending", parent
	kind := agent.KindToolCallUpdate
	if known == nil {
		kind, known = agent.KindToolCall, &call{}
		c.calls[id] = known
	}
	known.ToolCall = said
	c.emit(c.current(), &agent.Event{Kind: kind, ToolCall: &said, Raw: record})
	if entries := todos(input); block.Str("name") == "TodoWrite" && entries != nil {
		c.emit(c.current(), &agent.Event{Kind: agent.KindPlan, Value: entries, Raw: record})
	}
}

// toolResult tells how a call ended. One that nobody was asked about says so.
func (c *conn) toolResult(record, block acp.Object, parent string) {
	id := block.Str("tool_use_id")
	if id == "" {
		c.emit(c.current(), raw(record))
		return
	}
	said := agent.ToolCall{ID: id, Status: "completed", ParentCallID: parent, RawOutput: record.Get("tool_use_result")}
	if said.RawOutput == nil {
		said.RawOutput = block.Get("content")
	}
	if block.True("is_error") {
		said.Status = "failed"
	}
	known := c.calls[id]
	if known != nil {
		asked := known.asked
		said.Asked = &asked
	}
	// A diff is worth more than the word that it was applied.
	if known == nil || known.Kind != "edit" || said.Status == "failed" {
		said.HasContent, said.Content = true, contents(block.Get("content"))
	}
	c.update(&said, record)
}

func (c *conn) update(said *agent.ToolCall, record acp.Object) {
	c.emit(c.current(), &agent.Event{Kind: agent.KindToolCallUpdate, ToolCall: said, Raw: record})
}

// contents reads a result: a text, or a list of blocks.
func contents(value []byte) []agent.ToolContent {
	if text, ok := acp.Text(value); ok {
		return []agent.ToolContent{{Type: "text", Text: text}}
	}
	blocks, ok := acp.List(value)
	if !ok && value != nil {
		blocks = [][]byte{value}
	}
	var list []agent.ToolContent
	for _, b := range blocks {
		if o := acp.AsObject(b); o.Str("type") == "text" {
			list = append(list, agent.ToolContent{Type: "text", Text: o.Str("text")})
			continue
		}
		list = append(list, agent.ToolContent{Type: "raw", Value: b})
	}
	return list
}

// planEntry is one of ACP's plan entries.
type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// todos makes plan entries of TodoWrite's input; nil if it has none.
func todos(input acp.Object) []byte {
	list, ok := input.List("todos")
	if !ok {
		return nil
	}
	entries := []planEntry{}
	for _, item := range list {
		o := acp.AsObject(item)
		entries = append(entries, planEntry{o.Str("content"), "medium", o.Str("status")})
	}
	b, err := json.Marshal(entries)
	if err != nil {
		return nil
	}
	return b
}
