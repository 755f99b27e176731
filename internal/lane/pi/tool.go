package pi

import (
	"strings"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A call is what was said of one tool call in this turn.
type call struct {
	agent.ToolCall
	asked, running bool
	shown          string // the output so far
}

// A tool says how a tool's calls are told.
type tool struct {
	kind string
	read func(call *agent.ToolCall, input acp.Object)
}

// tools are pi's own. Those of extensions are kind other.
var tools = map[string]tool{
	"bash":       {"execute", shell},
	"powershell": {"execute", shell},
	"read":       {"read", located},
	"edit":       {"edit", edit},
	"write":      {"edit", writing},
	"grep":       {"search", searched},
	"find":       {"search", searched},
	"ls":         {"search", located},
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

// located says which file a call touches.
func located(c *agent.ToolCall, input acp.Object) {
	path := input.Str("path")
	if path == "" {
		return
	}
	line, _ := input.Int("offset")
	c.Title += " " + path
	c.Locations = []agent.Location{{Path: path, Line: int(line)}}
}

func searched(c *agent.ToolCall, input acp.Object) {
	if pattern := input.Str("pattern"); pattern != "" {
		c.Title += " " + pattern
	}
}

// edit reads the replacements; older releases have one, beside the path.
func edit(c *agent.ToolCall, input acp.Object) {
	located(c, input)
	list, ok := input.List("edits")
	if !ok {
		list = [][]byte{input}
	}
	for _, item := range list {
		o := acp.AsObject(item)
		if before, ok := o.Text("oldText"); ok {
			c.HasContent = true
			c.Content = append(c.Content, agent.ToolContent{Type: "diff", Path: input.Str("path"), OldText: &before, NewText: o.Str("newText")})
		}
	}
}

func writing(c *agent.ToolCall, input acp.Object) {
	located(c, input)
	if text, ok := input.Text("content"); ok {
		c.HasContent = true
		c.Content = []agent.ToolContent{{Type: "diff", Path: input.Str("path"), NewText: text}}
	}
}

// known is the call of a record, told if it wasn't yet.
func (c *conn) known(record acp.Object) *call {
	r, id := c.running(), record.Str("toolCallId")
	if k := r.calls[id]; k != nil || id == "" {
		return k
	}
	said := describe(id, record.Str("toolName"), record.Object("args"))
	said.Status = "pending"
	r.calls[id] = &call{ToolCall: said}
	c.session.Emit(r.turn, &agent.Event{Kind: agent.KindToolCall, ToolCall: &said, Raw: record})
	return r.calls[id]
}

func (c *conn) toolStart(record acp.Object) {
	if c.known(record) == nil {
		c.session.Raw(c.session.Current(), record)
	}
}

// toolUpdate tells of output; pi repeats what it told before.
func (c *conn) toolUpdate(record acp.Object) {
	known := c.known(record)
	if known == nil {
		c.session.Raw(c.session.Current(), record)
		return
	}
	said := agent.ToolCall{ID: known.ID}
	if !known.running {
		known.running, said.Status = true, "in_progress"
	}
	list := contents(record.Object("partialResult").Get("content"))
	switch more, grew := strings.CutPrefix(joined(list), known.shown); {
	case known.Kind == "edit" || len(list) == 0:
	case grew && texts(list):
		said.Append = more
		known.shown += more
	default:
		said.HasContent, said.Content = true, list
		known.shown = joined(list)
	}
	if said.Status != "" || said.Append != "" || said.HasContent {
		c.update(&said, record)
	}
}

// toolEnd tells how a call ended. One that nobody was asked about says so.
func (c *conn) toolEnd(record acp.Object) {
	known := c.known(record)
	if known == nil {
		c.session.Raw(c.session.Current(), record)
		return
	}
	asked := known.asked
	said := agent.ToolCall{ID: known.ID, Status: "completed", Asked: &asked, RawOutput: record.Get("result")}
	if record.True("isError") {
		said.Status = "failed"
	}
	// A diff is worth more than the word that it was applied.
	if known.Kind != "edit" || said.Status == "failed" {
		said.HasContent, said.Content = true, contents(record.Object("result").Get("content"))
	}
	c.update(&said, record)
}

func (c *conn) update(said *agent.ToolCall, record acp.Object) {
	c.session.Emit(c.session.Current(), &agent.Event{Kind: agent.KindToolCallUpdate, ToolCall: said, Raw: record})
}

// contents reads a result's blocks.
func contents(value []byte) []agent.ToolContent {
	blocks, _ := acp.List(value)
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

func joined(list []agent.ToolContent) string {
	var b strings.Builder
	for _, piece := range list {
		b.WriteString(piece.Text)
	}
	return b.String()
}

func texts(list []agent.ToolContent) bool {
	for _, piece := range list {
		if piece.Type != "text" {
			return false
		}
	}
	return true
}
