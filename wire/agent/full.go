package agent

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendFull appends ev in the full form of lanes.md §1 as one JSON object:
// {kind, turn, seq, time, replay?, …}. It doesn't use reflection and
// allocates nothing but dst's growth.
func AppendFull(dst []byte, ev *Event) []byte {
	dst = append(dst, `{"kind":"`...)
	dst = append(dst, ev.Kind...)
	dst = append(dst, `","turn":`...)
	dst = strconv.AppendUint(dst, ev.Turn, 10)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, ev.Seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = AppendTime(dst, ev.Time)
	dst = append(dst, '"')
	if ev.Replay {
		dst = append(dst, `,"replay":true`...)
	}
	dst = AppendMembers(dst, ev)
	return append(dst, '}')
}

// AppendMembers appends the members of ev's kind, each with a comma before
// it. The core's agent.* events use them without kind, seq and time.
func AppendMembers(dst []byte, ev *Event) []byte {
	switch ev.Kind {
	case KindMessage, KindThought:
		return appendString(dst, "text", ev.Text)
	case KindToolCall, KindToolCallUpdate:
		return appendRaw(appendToolCall(dst, ev.ToolCall), "raw", ev.Raw)
	case KindPlan:
		return appendRaw(appendRaw(dst, "entries", ev.Value), "raw", ev.Raw)
	case KindUsage:
		return appendRaw(appendReport(dst, ev.Usage), "raw", ev.Raw)
	case KindCommands:
		return appendRaw(appendRaw(dst, "commands", ev.Value), "raw", ev.Raw)
	case KindMode:
		return appendRaw(appendString(dst, "mode", ev.Text), "raw", ev.Raw)
	case KindConfig:
		return appendRaw(appendRaw(dst, "options", ev.Value), "raw", ev.Raw)
	case KindTitle:
		return appendRaw(appendString(dst, "title", ev.Text), "raw", ev.Raw)
	case KindNotice:
		return appendNotice(dst, ev.Notice)
	case KindStalled:
		return strconv.AppendInt(append(dst, `,"idleMs":`...), ev.IdleMs, 10)
	case KindTruncated:
		return dst
	}
	return appendRaw(dst, "raw", ev.Raw)
}

// AppendTime appends t as RFC 3339 in UTC with milliseconds.
func AppendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

// AppendUsage appends u as the usage object of sidecar.md §2: all six
// members, null where unknown; null for a nil u.
func AppendUsage(dst []byte, u *Usage) []byte {
	if u == nil {
		return append(dst, "null"...)
	}
	dst = appendCount(dst, `{"input":`, u.Input)
	dst = appendCount(dst, `,"cachedInput":`, u.CachedInput)
	dst = appendCount(dst, `,"cachedWrite":`, u.CachedWrite)
	dst = appendCount(dst, `,"output":`, u.Output)
	dst = appendCount(dst, `,"thought":`, u.Thought)
	dst = appendCount(dst, `,"total":`, u.Total)
	return append(dst, '}')
}

func appendCount(dst []byte, before string, n *int64) []byte {
	dst = append(dst, before...)
	if n == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, *n, 10)
}

func appendReport(dst []byte, r *UsageReport) []byte {
	if r == nil {
		r = &UsageReport{}
	}
	dst = AppendUsage(append(dst, `,"usage":`...), r.Usage)
	source := r.Source
	if source == "" {
		source = SourceUnknown
	}
	dst = appendString(dst, "source", source)
	if r.Cost != nil {
		dst = append(dst, `,"cost":{"amount":`...)
		dst = jsontextFloat(dst, r.Cost.Amount)
		dst = append(appendString(dst, "currency", r.Cost.Currency), '}')
	}
	if r.Context != nil {
		dst = append(dst, `,"context":{"used":`...)
		dst = strconv.AppendInt(dst, r.Context.Used, 10)
		dst = append(dst, `,"size":`...)
		dst = append(strconv.AppendInt(dst, r.Context.Size, 10), '}')
	}
	return dst
}

// jsontextFloat appends f; JSON has no NaN or infinity, they become 0.
func jsontextFloat(dst []byte, f float64) []byte {
	if f-f != 0 {
		f = 0
	}
	return append(dst, jsontext.Float(f).String()...)
}

func appendNotice(dst []byte, n *Notice) []byte {
	if n == nil {
		n = &Notice{}
	}
	dst = appendString(dst, "level", n.Level)
	dst = appendString(dst, "code", n.Code)
	dst = appendString(dst, "text", n.Text)
	if n.Data != nil {
		dst = appendRaw(dst, "data", n.Data)
	}
	return dst
}

func appendToolCall(dst []byte, c *ToolCall) []byte {
	if c == nil {
		c = &ToolCall{}
	}
	dst = appendString(dst, "toolCallId", c.ID)
	dst = appendGiven(dst, "title", c.Title)
	dst = appendGiven(dst, "toolKind", c.Kind)
	dst = appendGiven(dst, "status", c.Status)
	if c.HasContent || len(c.Content) > 0 {
		dst = append(dst, `,"content":`...)
		dst = AppendContent(dst, c.Content)
	}
	dst = appendGiven(dst, "append", c.Append)
	if len(c.Locations) > 0 {
		dst = appendLocations(dst, c.Locations)
	}
	if c.RawInput != nil {
		dst = appendRaw(dst, "rawInput", c.RawInput)
	}
	if c.RawOutput != nil {
		dst = appendRaw(dst, "rawOutput", c.RawOutput)
	}
	if c.Asked != nil {
		dst = strconv.AppendBool(append(dst, `,"asked":`...), *c.Asked)
	}
	return appendGiven(dst, "parentToolCallId", c.ParentCallID)
}

func appendLocations(dst []byte, list []Location) []byte {
	dst = append(dst, `,"locations":[`...)
	for i, l := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"path":`...)
		dst = quote(dst, l.Path)
		if l.Line != 0 {
			dst = append(dst, `,"line":`...)
			dst = strconv.AppendInt(dst, int64(l.Line), 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// AppendContent appends a tool call's content as the list of core.md §6. A
// terminal that has no run of the core is `raw` (lanes.md §1).
func AppendContent(dst []byte, list []ToolContent) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPiece(dst, &list[i])
	}
	return append(dst, ']')
}

func appendPiece(dst []byte, c *ToolContent) []byte {
	switch {
	case c.Type == "text":
		dst = append(dst, `{"type":"text"`...)
		dst = appendString(dst, "text", c.Text)
	case c.Type == "diff":
		dst = append(dst, `{"type":"diff"`...)
		dst = appendString(dst, "path", c.Path)
		dst = append(dst, `,"oldText":`...)
		if c.OldText == nil {
			dst = append(dst, "null"...)
		} else {
			dst = quote(dst, *c.OldText)
		}
		dst = appendString(dst, "newText", c.NewText)
	case c.Type == "terminal" && c.Run != "":
		dst = append(dst, `{"type":"terminal"`...)
		dst = appendString(dst, "run", c.Run)
	case c.Type == "terminal" && c.Value == nil:
		dst = append(dst, `{"type":"raw","value":{"type":"terminal"`...)
		dst = append(appendString(dst, "terminalId", c.TerminalID), '}')
	default:
		dst = append(dst, `{"type":"raw"`...)
		dst = appendRaw(dst, "value", c.Value)
	}
	return append(dst, '}')
}

// appendGiven appends a string member unless it is empty.
func appendGiven(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(dst, name, value)
}

// appendString appends a string member. name needs no escapes.
func appendString(dst []byte, name, value string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	return quote(dst, value)
}

// appendRaw appends a member that is JSON already, null when nil.
func appendRaw(dst []byte, name string, value []byte) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	if value == nil {
		return append(dst, "null"...)
	}
	return append(dst, value...)
}

// quote appends s as a JSON string; what isn't UTF-8 becomes U+FFFD.
func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
