package acp

import "dragoman/wire/agent"

// Kinds of a session/update.
const (
	UpdateUserChunk         = "user_message_chunk"
	UpdateMessageChunk      = "agent_message_chunk"
	UpdateThoughtChunk      = "agent_thought_chunk"
	UpdateToolCall          = "tool_call"
	UpdateToolCallUpdate    = "tool_call_update"
	UpdatePlan              = "plan"
	UpdateCommands          = "available_commands_update"
	UpdateMode              = "current_mode_update"
	UpdateConfig            = "config_option_update"
	UpdateInfo              = "session_info_update"
	UpdateUsage             = "usage_update"
	UpdateNotice            = "notice"
	UpdateCompaction        = "compaction_update"
	UpdateCompactionSummary = "compaction_summary_chunk"
)

// updateKinds shares the strings of the kinds that we know.
var updateKinds = func() map[string]string {
	kinds := make(map[string]string)
	for _, kind := range []string{
		UpdateUserChunk, UpdateMessageChunk, UpdateThoughtChunk, UpdateToolCall,
		UpdateToolCallUpdate, UpdatePlan, UpdateCommands, UpdateMode, UpdateConfig,
		UpdateInfo, UpdateUsage, UpdateNotice, UpdateCompaction, UpdateCompactionSummary,
	} {
		kinds[`"`+kind+`"`] = kind
	}
	return kinds
}()

// An Update is the `update` of a session/update. Its bytes are those of the
// line it was read from.
type Update struct {
	// Kind is the member sessionUpdate, "" when that isn't a string.
	Kind string
	// Raw is the whole update.
	Raw Object
	// Content is the value of the member content; nil when absent or null.
	Content []byte
}

// ReadUpdate finds the update in the params of a session/update; ok is false
// where there is no object `update`. It allocates nothing for the kinds that
// we know.
func ReadUpdate(params []byte) (u Update, ok bool) {
	u.Raw = AsObject(params).Object("update")
	if u.Raw == nil {
		return u, false
	}
	for at := 1; ; {
		key, value, next := u.Raw.member(at)
		if next == 0 {
			return u, true
		}
		switch {
		case sameKey(key, "sessionUpdate"):
			if kind, known := updateKinds[string(value)]; known {
				u.Kind = kind
			} else {
				u.Kind, _ = Text(value)
			}
		case sameKey(key, "content") && value[0] != 'n':
			u.Content = value
		}
		at = next
	}
}

// Types of a content block.
const (
	BlockText         = "text"
	BlockImage        = "image"
	BlockAudio        = "audio"
	BlockResourceLink = "resource_link"
	BlockResource     = "resource"
)

// BlockText returns the text of a content block of type text; ok is false for
// any other value.
func TextOf(block []byte) (text string, ok bool) {
	o := AsObject(block)
	if string(o.Get("type")) != `"`+BlockText+`"` {
		return "", false
	}
	return o.Text("text")
}

// Types of a tool call's content.
const (
	ContentBlock    = "content"
	ContentDiff     = "diff"
	ContentTerminal = "terminal"
)

// ReadToolCall reads a tool_call, a tool_call_update, or the toolCall of a
// permission request. What isn't there is left zero. The slices belong to the
// line that o was read from, except those that hold values of other types.
func ReadToolCall(o Object) agent.ToolCall {
	call := agent.ToolCall{
		ID:        o.Str("toolCallId"),
		Title:     o.Str("title"),
		Kind:      o.Str("kind"),
		Status:    o.Str("status"),
		RawInput:  o.Get("rawInput"),
		RawOutput: o.Get("rawOutput"),
	}
	if list, ok := o.List("content"); ok {
		call.HasContent = true
		for _, item := range list {
			call.Content = append(call.Content, readContent(item))
		}
	}
	if list, ok := o.List("locations"); ok {
		for _, item := range list {
			l := AsObject(item)
			if path, ok := l.Text("path"); ok {
				line, _ := l.Int("line")
				call.Locations = append(call.Locations, agent.Location{Path: path, Line: int(line)})
			}
		}
	}
	call.Argv, call.Shell = commandOf(AsObject(call.RawInput))
	return call
}

// commandOf finds the command line in a tool's input: agents give it as
// `command`, an argv or a shell's text.
func commandOf(input Object) (argv []string, shell string) {
	value := input.Get("command")
	if text, ok := Text(value); ok {
		return nil, text
	}
	list, _ := List(value)
	for _, item := range list {
		arg, ok := Text(item)
		if !ok {
			return nil, ""
		}
		argv = append(argv, arg)
	}
	return argv, ""
}

// readContent reads one piece of a tool call's content. What has no form of
// its own, like an image, is raw.
func readContent(item []byte) agent.ToolContent {
	o := AsObject(item)
	switch o.Str("type") {
	case ContentBlock:
		if text, ok := TextOf(o.Get("content")); ok {
			return agent.ToolContent{Type: "text", Text: text}
		}
	case ContentDiff:
		path, ok := o.Text("path")
		text, okText := o.Text("newText")
		if ok && okText {
			c := agent.ToolContent{Type: "diff", Path: path, NewText: text}
			if old, ok := o.Text("oldText"); ok {
				c.OldText = &old
			}
			return c
		}
	case ContentTerminal:
		if id, ok := o.Text("terminalId"); ok {
			return agent.ToolContent{Type: "terminal", TerminalID: id, Value: item}
		}
	}
	return agent.ToolContent{Type: "raw", Value: item}
}
