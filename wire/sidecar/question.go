package sidecar

import (
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// actionTitle is the title of a question whose call has none.
const actionTitle = "Agent action"

// AppendQuestion appends the params of permission/request (sidecar.md §3).
func AppendQuestion(dst []byte, sessionID string, q *agent.Question) []byte {
	c := &q.ToolCall
	call, _, _ := ndjson.Get(q.Raw, "toolCall")
	dst = append(dst, `{"sessionId":`...)
	dst = ndjson.AppendQuote(dst, sessionID)
	dst = append(dst, `,"toolCallId":`...)
	dst = ndjson.AppendQuote(dst, c.ID)
	dst = append(dst, `,"title":`...)
	dst = ndjson.AppendQuote(dst, callName(c, call, actionTitle))
	dst = append(dst, `,"kind":`...)
	if c.Kind == "" {
		dst = append(dst, "null"...)
	} else {
		dst = ndjson.AppendQuote(dst, c.Kind)
	}
	dst = append(dst, `,"contentTexts":[`...)
	dst = appendTexts(dst, c.Content)
	dst = append(dst, `],"options":[`...)
	for i, o := range q.Options {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		dst = append(ndjson.AppendQuote(dst, o.ID), ',')
		dst = append(ndjson.AppendQuote(dst, o.Name), ',')
		dst = append(ndjson.AppendQuote(dst, o.Kind), ']')
	}
	dst = append(dst, `],"raw":`...)
	return append(appendValue(dst, q.Raw), '}')
}

// appendTexts appends what of a call's content a person can read.
func appendTexts(dst []byte, content []agent.ToolContent) []byte {
	first := true
	for i := range content {
		text, ok := contentText(&content[i])
		if !ok {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = ndjson.AppendQuote(dst, text)
	}
	return dst
}

func contentText(p *agent.ToolContent) (string, bool) {
	switch p.Type {
	case "text":
		return p.Text, true
	case "diff":
		before := "(new file)"
		if p.OldText != nil {
			before = *p.OldText
		}
		return p.Path + "\n" + before + "\n→\n" + p.NewText, true
	case "terminal":
		return "Terminal: " + p.TerminalID, true
	}
	return "", false
}

// ParseAnswer reads the result of permission/request. Everything that isn't
// {"selected":"ID"}, without a "cancelled" that is anything but false or
// null, is cancelled. Whether ID was offered is the engine's to say.
func ParseAnswer(result []byte) agent.Answer {
	members, err := ndjson.Members(result)
	if err != nil {
		return agent.Answer{}
	}
	var answer agent.Answer
	for _, m := range members {
		value := m.Value.Of(result)
		switch string(m.Key) {
		case "cancelled":
			if m.Kind != ndjson.False && m.Kind != ndjson.Null {
				return agent.Answer{}
			}
		case "selected":
			if m.Kind != ndjson.String {
				return agent.Answer{}
			}
			id, err := ndjson.Unquote(nil, value)
			if err != nil {
				return agent.Answer{}
			}
			answer.OptionID = string(id)
		}
	}
	return answer
}
