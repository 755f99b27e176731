package codex

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// An itemBody is an item as the agent tells it: the app-server names members
// in camelCase, exec in snake_case.
type itemBody struct{ acp.Object }

// member is the name under which a member is there.
func (b itemBody) member(name string) string {
	if b.Get(name) == nil {
		return snake(name)
	}
	return name
}

func snake(name string) string {
	var s strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			s.WriteByte('_')
			r += 'a' - 'A'
		}
		s.WriteRune(r)
	}
	return s.String()
}

func (b itemBody) str(name string) string { return b.Str(b.member(name)) }

// kind is the item's type in camelCase.
func (b itemBody) kind() string {
	words := strings.Split(b.Str("type"), "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// statuses are the words for the state of an item by ours.
var statuses = map[string]string{
	"inProgress": "in_progress", "in_progress": "in_progress", "completed": "completed",
	"failed": "failed", "declined": "failed",
}

// callReaders are the items that are tool calls.
var callReaders = map[string]func(b itemBody, c *agent.ToolCall){
	"commandExecution":    itemBody.command,
	"fileChange":          func(b itemBody, c *agent.ToolCall) { patch(c, b.Object) },
	"mcpToolCall":         itemBody.mcpTool,
	"dynamicToolCall":     func(b itemBody, c *agent.ToolCall) { c.Title, c.RawInput = b.Str("tool"), b.Get("arguments") },
	"collabToolCall":      itemBody.collab,
	"collabAgentToolCall": itemBody.collab,
	"webSearch":           itemBody.search,
	"imageView":           itemBody.image,
	"imageGeneration":     func(b itemBody, c *agent.ToolCall) { c.Title = "Make an image" },
}

// call reads the item as a tool call; ok is false for any other.
func (b itemBody) call() (call agent.ToolCall, ok bool) {
	read := callReaders[b.kind()]
	if read == nil {
		return call, false
	}
	call = agent.ToolCall{ID: b.Str("id"), Kind: "other", Status: statuses[b.Str("status")]}
	read(b, &call)
	return call, true
}

func (b itemBody) command(c *agent.ToolCall) {
	c.Kind = "execute"
	setCommand(c, b.Str("command"))
	if input, err := json.Marshal(struct {
		Command string `json:"command"`
		Cwd     string `json:"cwd,omitzero"`
	}{b.Str("command"), b.Str("cwd")}); err == nil {
		c.RawInput = input
	}
}

// setCommand says what is run: the script that a shell gets, or the command
// line as it stands.
func setCommand(c *agent.ToolCall, line string) {
	c.Title, c.Shell = line, line
	if words, ok := split(line); ok {
		setArgv(c, words)
	}
}

// setArgv says what is run.
func setArgv(c *agent.ToolCall, argv []string) {
	if script, ok := shellScript(argv); ok {
		c.Title, c.Shell, c.Argv = script, script, nil
		return
	}
	c.Shell, c.Argv = "", argv
	if c.Title == "" {
		c.Title = strings.Join(argv, " ")
	}
}

func (b itemBody) mcpTool(c *agent.ToolCall) {
	c.Title = strings.TrimPrefix(b.Str("server")+"."+b.Str("tool"), ".")
	c.RawInput = b.Get("arguments")
}

func (b itemBody) collab(c *agent.ToolCall) {
	c.Kind, c.Title = "think", b.Str("tool")
	if prompt := b.Str("prompt"); prompt != "" {
		c.HasContent, c.Content = true, []agent.ToolContent{{Type: "text", Text: prompt}}
	}
}

func (b itemBody) search(c *agent.ToolCall) {
	c.Kind, c.Title = "fetch", "Search the web"
	if query := b.Str("query"); query != "" {
		c.Title = "Search " + query
	}
	c.RawInput = b.Get("action")
}

func (b itemBody) image(c *agent.ToolCall) {
	c.Kind, c.Title = "read", "View "+b.Str("path")
	if path := b.Str("path"); path != "" {
		c.Locations = []agent.Location{{Path: path}}
	}
}

// thought joins the parts of a reasoning.
func (b itemBody) thought() string {
	var parts []string
	for _, name := range []string{"summary", "content"} {
		list, _ := b.List(name)
		for _, item := range list {
			if text, ok := acp.Text(item); ok {
				parts = append(parts, text)
			} else if text := acp.AsObject(item).Str("text"); text != "" {
				parts = append(parts, text)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, partBreak)
		}
	}
	return b.Str("text")
}

// commandResult is a command's rawOutput.
type commandResult struct {
	ExitCode   jsontext.Value `json:"exitCode,omitzero"`
	DurationMs jsontext.Value `json:"durationMs,omitzero"`
	Status     string         `json:"status,omitzero"`
}

// result adds how the call ended. Output that came in pieces isn't told again.
func (b itemBody) result(c *agent.ToolCall, pieces string) {
	if c.Status == "" || c.Status == "in_progress" {
		c.Status = "completed"
	}
	switch b.kind() {
	case "commandExecution":
		out, _ := json.Marshal(commandResult{b.Get(b.member("exitCode")), b.Get(b.member("durationMs")), b.Str("status")})
		c.RawOutput = out
		if whole := b.str("aggregatedOutput"); whole != pieces {
			c.HasContent, c.Content = true, []agent.ToolContent{{Type: "text", Text: whole}}
		}
	case "mcpToolCall", "dynamicToolCall":
		c.RawOutput = b.Get("result")
		if fault := b.Object.Object("error").Str("message"); fault != "" {
			c.HasContent, c.Content = true, []agent.ToolContent{{Type: "text", Text: fault}}
			return
		}
		blocks, ok := b.Object.Object("result").List("content")
		if !ok {
			blocks, ok = b.List(b.member("contentItems"))
		}
		if ok {
			c.HasContent, c.Content = true, contents(blocks)
		}
	}
}

// contents reads MCP's content blocks.
func contents(blocks [][]byte) []agent.ToolContent {
	var list []agent.ToolContent
	for _, b := range blocks {
		if text, ok := acp.AsObject(b).Text("text"); ok {
			list = append(list, agent.ToolContent{Type: "text", Text: text})
			continue
		}
		list = append(list, agent.ToolContent{Type: "raw", Value: b})
	}
	return list
}
