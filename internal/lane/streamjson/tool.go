package streamjson

import (
	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// kinds are ACP's kinds of the tools that Gemini and its fork have.
var kinds = map[string]string{
	"run_shell_command": "execute", "read_file": "read", "read_many_files": "read", "list_directory": "search",
	"glob": "search", "grep_search": "search", "search_file_content": "search", "replace": "edit", "edit": "edit",
	"write_file": "edit", "web_fetch": "fetch", "google_web_search": "fetch", "web_search": "fetch",
	"agent": "think", "task": "think", "save_memory": "think", "todo_write": "think", "write_todos": "think",
	"exit_plan_mode": "switch_mode", "enter_plan_mode": "switch_mode",
}

// call tells of a tool call. Nobody was asked.
func (t *turn) call(id, name string, input acp.Object, parent string, record acp.Object) {
	if id == "" {
		t.raw(record)
		return
	}
	asked := false
	c := &agent.ToolCall{ID: id, Title: name, Kind: kinds[name], Status: "in_progress", RawInput: input, ParentCallID: parent, Asked: &asked}
	if c.Kind == "" {
		c.Kind = "other"
	}
	path := input.Str("file_path")
	if path == "" {
		path = input.Str("absolute_path")
	}
	switch {
	case name == "run_shell_command" && input.Str("command") != "":
		c.Title = input.Str("command")
		c.Shell = c.Title
	case path != "":
		c.Title += " " + path
		c.Locations = []agent.Location{{Path: path}}
	}
	if c.Kind == "edit" {
		c.Content = diff(path, input)
		c.HasContent = c.Content != nil
		t.edits[id] = c.HasContent
	}
	t.emit(&agent.Event{Kind: agent.KindToolCall, ToolCall: c, Raw: record})
}

// diff is what an edit changes; nil if its input doesn't say.
func diff(path string, input acp.Object) []agent.ToolContent {
	if before, ok := input.Text("old_string"); ok {
		return []agent.ToolContent{{Type: "diff", Path: path, OldText: &before, NewText: input.Str("new_string")}}
	}
	if text, ok := input.Text("content"); ok {
		return []agent.ToolContent{{Type: "diff", Path: path, NewText: text}}
	}
	return nil
}

// returned tells how a call ended.
func (t *turn) returned(id, text string, failed bool, parent string, record acp.Object) {
	if id == "" {
		t.raw(record)
		return
	}
	c := &agent.ToolCall{ID: id, Status: "completed", ParentCallID: parent}
	if failed {
		c.Status = "failed"
	}
	// A diff is worth more than the word that it was applied.
	if failed || !t.edits[id] {
		c.HasContent, c.Content = true, []agent.ToolContent{{Type: "text", Text: text}}
	}
	t.emit(&agent.Event{Kind: agent.KindToolCallUpdate, ToolCall: c, Raw: record})
}
