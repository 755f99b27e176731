package cli

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/wire/agent"

	"github.com/go-json-experiment/json/jsontext"
)

// said is what an output told: its events in short, one a line.
type said struct {
	o      *output
	events []string
	ids    []string
}

func newSaid(t testing.TB, m members) *said {
	s := &said{}
	s.o = newOutput(parse(t, m), 7, func(ev *agent.Event) {
		line := string(ev.Kind) + " " + ev.Text + string(ev.Raw)
		if ev.Usage != nil {
			line += fmt.Sprint(*ev.Usage.Usage.Input)
		}
		if ev.Turn != 7 {
			line += " in another turn"
		}
		s.events = append(s.events, strings.TrimSpace(line))
	}, func(id string) { s.ids = append(s.ids, id) })
	return s
}

func TestOutput(t *testing.T) {
	lines := members{"jsonLines": true, "sessionIdPath": "id", "usagePath": "u", "resultSelector": "result", "resultPath": "r.text"}
	with := func(m members, name string, v any) members {
		c := members{name: v}
		for k, v := range m {
			c[k] = v
		}
		return c
	}
	tests := []struct {
		name      string
		spec      members
		in        string
		text      string
		truncated bool
		events    string
		ids       string
	}{
		{name: "text", in: "a\xc3", text: "a\ufffd", events: "message-chunk a|message-chunk \ufffd"},
		{name: "cut at a character", spec: members{"maxOutputBytes": 4}, in: "aéé!", text: "aé", truncated: true,
			events: "message-chunk aé|truncated"},
		{name: "a budget of nothing", spec: members{"maxOutputBytes": 0}, in: "a", truncated: true, events: "truncated"},
		{name: "records", spec: lines, in: "{\"id\":\"\"}\r\r\n{\"id\":\"A\",\"u\":{\"input\":3}}\nnot json\n\n[1]\n 5 \n{\"id\":\"B\"}",
			text:   "{\"id\":\"\"}\r\r\n{\"id\":\"A\",\"u\":{\"input\":3}}\nnot json\n\n[1]\n 5 \n{\"id\":\"B\"}",
			events: `raw {"id":""}|usage 3|raw {"id":"A","u":{"input":3}}|raw [1]|raw 5|raw {"id":"B"}`, ids: "A"},
		{name: "the last result", spec: lines,
			in:   `{"type":"result","r":{"text":"one"}}` + "\n" + `{"type":"result","r":{"text":5}}` + "\n" + `{"type":"other","r":{"text":"no"}}` + "\n" + `{"type":"result","r":{"text":""}}`,
			text: "", events: `raw {"type":"result","r":{"text":"one"}}|raw {"type":"result","r":{"text":5}}|raw {"type":"other","r":{"text":"no"}}|raw {"type":"result","r":{"text":""}}`},
		{name: "a field of its own", spec: with(lines, "resultSelectorField", "ev"), in: `{"ev":"result","r":{"text":"x"},"type":"z"}`,
			text: "x", events: `raw {"ev":"result","r":{"text":"x"},"type":"z"}`},
		{name: "a selector that is no string", spec: lines, in: `{"type":["result"],"r":{"text":"x"}}`,
			text: `{"type":["result"],"r":{"text":"x"}}`, events: `raw {"type":["result"],"r":{"text":"x"}}`},
		{name: "a line that doesn't fit goes with its usage", spec: with(lines, "maxOutputBytes", 20),
			in: `{"u":{"input":3},"pad":"0123456789"}` + "\n" + `{"b":1}` + "\n", text: `{"u":{"input":3},"pa`, truncated: true,
			events: `truncated|raw {"b":1}`},
		{name: "a result over the budget", spec: with(lines, "maxOutputBytes", 50),
			in: `{"type":"result","r":{"text":"` + strings.Repeat("é", 30) + `"}}`, text: strings.Repeat("é", 25), truncated: true, events: "truncated"},
		{name: "broken lines are mended", spec: lines, in: "{\"a\":\"\xff\\ud800\",\"b\":1,\"b\":2}",
			text: "{\"a\":\"\ufffd\\ud800\",\"b\":1,\"b\":2}", events: "raw {\"a\":\"\ufffd\ufffd\",\"b\":2}"},
		{name: "over the line limit", spec: with(lines, "maxOutputBytes", 1), in: `{"type":"result","r":{"text":"` + strings.Repeat("x", minLineLimit) + `"}}` + "\n[]\n",
			text: "{", truncated: true, events: "truncated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSaid(t, tt.spec)
			s.o.Write([]byte(tt.in))
			s.o.finish()
			if got := s.o.final(); got != tt.text {
				t.Errorf("text %.200q, want %.200q", got, tt.text)
			}
			if got := strings.Join(s.events, "|"); got != tt.events || s.o.truncated != tt.truncated {
				t.Errorf("events %.500s, truncated %v; want %s, %v", got, s.o.truncated, tt.events, tt.truncated)
			}
			if got := strings.Join(s.ids, "|"); got != tt.ids {
				t.Errorf("bound to %q, want %q", got, tt.ids)
			}
		})
	}
}

func TestUsageGoesOn(t *testing.T) {
	s := newSaid(t, members{"jsonLines": true, "usagePath": "u", "maxOutputBytes": 1})
	s.o.Write([]byte(`{"u":{"input":3}}` + "\n" + `{"u":{"input":4}}` + "\n" + `{"u":{}}`))
	s.o.finish()
	if s.o.usage == nil || *s.o.usage.Input != 4 {
		t.Errorf("usage %+v, want the last one", s.o.usage)
	}
}

// FuzzJSONLines: whatever the bytes and the pieces they come in, the events
// are JSON, the same in every cutting, and within the budget.
func FuzzJSONLines(f *testing.F) {
	f.Add([]byte("{\"id\":\"a\"}\r\n[1]\n\xff\n{\"type\":\"result\",\"r\":{\"text\":\"x\"}}"), 3, int64(20))
	f.Add([]byte("\"\\ud800\"\n{\"a\":1,\"a\":2}"), 1, int64(0))
	f.Fuzz(func(t *testing.T, in []byte, n int, max int64) {
		m := members{"jsonLines": true, "sessionIdPath": "id", "usagePath": "u", "resultSelector": "result", "resultPath": "r.text"}
		if max >= 0 {
			m["maxOutputBytes"] = max
		}
		whole, cut := newSaid(t, m), newSaid(t, m)
		whole.o.Write(in)
		if n < 1 {
			n = 1
		}
		for rest := in; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			cut.o.Write(rest[:min(n, len(rest))])
		}
		whole.o.finish()
		cut.o.finish()
		if a, b := whole.o.final(), cut.o.final(); a != b || max >= 0 && int64(len(a)) > max {
			t.Errorf("texts %q and %q, budget %d", a, b, max)
		}
		if a, b := strings.Join(whole.events, "\n"), strings.Join(cut.events, "\n"); a != b {
			t.Errorf("events\n%s\nand, in pieces of %d,\n%s", a, n, b)
		}
		for _, ev := range whole.events {
			if raw, ok := strings.CutPrefix(ev, "raw "); ok && !jsontext.Value(raw).IsValid() {
				t.Errorf("event %q is no JSON", ev)
			}
		}
	})
}
