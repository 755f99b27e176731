package sidecar

import (
	"strconv"
	"strings"

	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// AppendEvent appends ev in the plain form (sidecar.md §3) and reports
// whether it has one: a chunk without text, a notice and a stall haven't.
// Events that are ACP updates keep their bytes; those of other lanes come in
// the shape of one where §3 has no kind for them (sidecar.md §9).
func AppendEvent(dst []byte, ev *agent.Event) ([]byte, bool) {
	switch ev.Kind {
	case agent.KindMessage:
		if ev.Text == "" {
			return dst, false
		}
		dst = append(dst, `{"kind":"message-chunk","text":`...)
		return append(ndjson.AppendQuote(dst, ev.Text), '}'), true
	case agent.KindToolCall, agent.KindToolCallUpdate:
		return appendTool(dst, ev), true
	case agent.KindPlan:
		dst = append(dst, `{"kind":"plan","raw":`...)
		return append(appendPlan(dst, ev), '}'), true
	case agent.KindUsage:
		return appendUsage(dst, ev), true
	case agent.KindTruncated:
		return append(dst, `{"kind":"truncated"}`...), true
	case agent.KindNotice, agent.KindStalled:
		return dst, false
	}
	dst = append(dst, `{"kind":"raw","raw":`...)
	return append(appendUpdate(dst, ev), '}'), true
}

// The summaries of tool calls.
const (
	toolSummary   = "Agent tool call"
	updateSummary = "Agent tool call update"
)

func appendTool(dst []byte, ev *agent.Event) []byte {
	summary := updateSummary
	if ev.Kind == agent.KindToolCall {
		summary = callName(ev.ToolCall, ev.Raw, toolSummary)
	}
	dst = append(dst, `{"kind":"tool-call","summary":`...)
	dst = ndjson.AppendQuote(dst, summary)
	dst = append(dst, `,"raw":`...)
	if ev.ACP {
		dst = append(dst, ndjson.Cut(ev.Raw, "sessionUpdate")...)
	} else {
		dst = appendToolCall(dst, ev.ToolCall)
	}
	return append(dst, '}')
}

// callName is a call's title, else the name in its raw form, else def. A
// blank one doesn't count.
func callName(c *agent.ToolCall, raw []byte, def string) string {
	if c != nil && strings.TrimSpace(c.Title) != "" {
		return c.Title
	}
	if value, kind, ok := ndjson.Get(raw, "name"); ok && kind == ndjson.String {
		name, err := ndjson.Unquote(nil, value)
		if err == nil && strings.TrimSpace(string(name)) != "" {
			return string(name)
		}
	}
	return def
}

func appendPlan(dst []byte, ev *agent.Event) []byte {
	if ev.ACP {
		return append(dst, ndjson.Cut(ev.Raw, "sessionUpdate")...)
	}
	return append(appendValue(append(dst, `{"entries":`...), ev.Value), '}')
}

// appendUsage: acp's usage_update is raw, the counts of other lanes are a
// usage event.
func appendUsage(dst []byte, ev *agent.Event) []byte {
	if ev.ACP {
		dst = append(dst, `{"kind":"raw","raw":`...)
		return append(appendValue(dst, ev.Raw), '}')
	}
	var usage *agent.Usage
	if ev.Usage != nil {
		usage = ev.Usage.Usage
	}
	dst = append(dst, `{"kind":"usage","usage":`...)
	return append(agent.AppendUsage(dst, usage), `,"raw":null}`...)
}

// appendUpdate appends what has no kind of its own: the agent's own message,
// or an ACP update made of what another lane told.
func appendUpdate(dst []byte, ev *agent.Event) []byte {
	if ev.ACP || ev.Kind == agent.KindRaw {
		return appendValue(dst, ev.Raw)
	}
	switch ev.Kind {
	case agent.KindThought:
		dst = append(dst, `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":`...)
		return append(ndjson.AppendQuote(dst, ev.Text), "}}"...)
	case agent.KindCommands:
		dst = append(dst, `{"sessionUpdate":"available_commands_update","availableCommands":`...)
		return append(appendValue(dst, ev.Value), '}')
	case agent.KindMode:
		dst = append(dst, `{"sessionUpdate":"current_mode_update","currentModeId":`...)
		return append(ndjson.AppendQuote(dst, ev.Text), '}')
	case agent.KindConfig:
		dst = append(dst, `{"sessionUpdate":"config_option_update","configOptions":`...)
		return append(appendValue(dst, ev.Value), '}')
	case agent.KindTitle:
		dst = append(dst, `{"sessionUpdate":"session_info_update","title":`...)
		return append(ndjson.AppendQuote(dst, ev.Text), '}')
	}
	return appendValue(dst, ev.Raw)
}

// appendToolCall appends an ACP tool call, without sessionUpdate.
func appendToolCall(dst []byte, c *agent.ToolCall) []byte {
	if c == nil {
		c = &agent.ToolCall{}
	}
	dst = append(dst, `{"toolCallId":`...)
	dst = ndjson.AppendQuote(dst, c.ID)
	dst = appendText(dst, "title", c.Title)
	dst = appendText(dst, "kind", c.Kind)
	dst = appendText(dst, "status", c.Status)
	if c.HasContent || len(c.Content) > 0 || c.Append != "" {
		dst = appendContent(append(dst, `,"content":[`...), c)
		dst = append(dst, ']')
	}
	if len(c.Locations) > 0 {
		dst = appendLocations(dst, c.Locations)
	}
	if c.RawInput != nil {
		dst = append(append(dst, `,"rawInput":`...), c.RawInput...)
	}
	if c.RawOutput != nil {
		dst = append(append(dst, `,"rawOutput":`...), c.RawOutput...)
	}
	return append(dst, '}')
}

func appendContent(dst []byte, c *agent.ToolCall) []byte {
	for i := range c.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPiece(dst, &c.Content[i])
	}
	if c.Append != "" {
		if len(c.Content) > 0 {
			dst = append(dst, ',')
		}
		dst = appendPiece(dst, &agent.ToolContent{Type: "text", Text: c.Append})
	}
	return dst
}

func appendPiece(dst []byte, p *agent.ToolContent) []byte {
	switch p.Type {
	case "text":
		dst = append(dst, `{"type":"content","content":{"type":"text","text":`...)
		return append(ndjson.AppendQuote(dst, p.Text), "}}"...)
	case "diff":
		dst = append(dst, `{"type":"diff","path":`...)
		dst = ndjson.AppendQuote(dst, p.Path)
		dst = append(dst, `,"oldText":`...)
		if p.OldText == nil {
			dst = append(dst, "null"...)
		} else {
			dst = ndjson.AppendQuote(dst, *p.OldText)
		}
		dst = append(dst, `,"newText":`...)
		return append(ndjson.AppendQuote(dst, p.NewText), '}')
	case "terminal":
		dst = append(dst, `{"type":"terminal","terminalId":`...)
		return append(ndjson.AppendQuote(dst, p.TerminalID), '}')
	}
	return appendValue(dst, p.Value)
}

func appendLocations(dst []byte, list []agent.Location) []byte {
	dst = append(dst, `,"locations":[`...)
	for i, l := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"path":`...)
		dst = ndjson.AppendQuote(dst, l.Path)
		if l.Line > 0 {
			dst = strconv.AppendInt(append(dst, `,"line":`...), int64(l.Line), 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendText appends a string member unless it is empty.
func appendText(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return ndjson.AppendQuote(dst, value)
}

// appendValue appends JSON, null when there is none.
func appendValue(dst, value []byte) []byte {
	if value == nil {
		return append(dst, "null"...)
	}
	return append(dst, value...)
}
