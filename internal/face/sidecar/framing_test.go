package sidecar

import (
	"strings"
	"testing"
)

const pong = `"result":{"protocol":"a4aa.v1","version":"v"}}`

// TestFraming puts lines to the server and wants exactly these answers and
// reports, and a stream that goes on (sidecar.md §1).
func TestFraming(t *testing.T) {
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	pongTo := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,` + pong }
	refused := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,` }
	tests := []struct {
		name, line, answer, report string // answer is a beginning
	}{
		{"leading zeros in a string id", ping(`"007"`), pongTo(`"007"`), ""},
		{"big id", ping(`9007199254740993`), pongTo(`9007199254740993`), ""},
		{"float id", ping(`1.0`), pongTo(`1.0`), ""},
		{"30 digits", ping(`123456789012345678901234567890`), pongTo(`123456789012345678901234567890`), ""},
		{"null id", ping(`null`), pongTo(`null`), ""},
		{"object id with blanks", ping(`{ "a" : [1] }`), pongTo(`{ "a" : [1] }`), ""},
		{"empty object id", ping(`{}`), pongTo(`{}`), ""},
		{"escaped id", ping(`"\u00e9\/"`), pongTo(`"\u00e9\/"`), ""},
		{"raw line separators in a string", ping("\"\u2028\u0085\""), pongTo("\"\u2028\u0085\""), ""},
		{"no version", `{"id":5,"method":"ping"}`, pongTo(`5`), ""},
		{"CR LF", ping(`5`) + "\r", pongTo(`5`), ""},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, refused(`null`), ""},
		{"scalar", `42`, refused(`null`), ""},
		{"no method", `{"id":9}`, refused(`9`), ""},
		{"method that is no string", `{"id":9,"method":5}`, refused(`9`), ""},
		{"another method in other letters", `{"id":9,"method":"ping","Method":"x"}`, pongTo(`9`), ""},
		{"neither id nor method", `{"x":1}`, "", ""},
		{"empty lines", "\n\r\n", "", ""},
		{"stray reply", `{"id":77,"result":{}}`, "", ""},
		{"stray error", `{"id":"77","error":null}`, "", ""},
		{"notification", `{"method":"ping"}`, "", ""},
		{"no JSON", `{"id":`, "", "protocol error from host: line 1: "},
		{"no UTF-8", "{\"id\":9,\"method\":\"p\xff\"}", "", "protocol error from host: line 1: "},
		{"duplicate key", `{"id":9,"id":10,"method":"ping"}`, "", "at byte 8"},
		{"duplicate key inside", `{"id":9,"method":"ping","params":{"a":1,"\u0061":2}}`, "", "protocol error from host: line 1: "},
		{"lone surrogate", `{"id":"\ud800","method":"ping"}`, "", "protocol error from host: line 1: "},
		{"deep", strings.Repeat("[", 100_000), "", "protocol error from host: line 1: "},
		{"trailing data", `{"id":9,"method":"ping"}}`, "", "protocol error from host: line 1: "},
		{"cancel as a notification", `{"method":"session/cancel","params":{}}`, "", "notification-style session/cancel ignored"},
		{"cancel request", `{"method":"$/cancel_request","params":{"id":1}}`, "", "notification-style session/cancel ignored"},
		{"unknown method", `{"id":9,"method":"session/steer"}`, `{"jsonrpc":"2.0","id":9,"error":{"code":-32601,`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, nil).read()
			c.raw(tt.line + "\n")
			after := c.call("ping", "null")
			got := ""
			for _, m := range c.seen {
				got += m.line + "\n"
			}
			if tt.answer == "" && got != "" || !strings.HasPrefix(got, tt.answer) || strings.Count(got, "\n") > 1 {
				t.Errorf("got %q, want %q…", got, tt.answer)
			}
			if after.line != pongTo("1") {
				t.Errorf("the stream went on with %s", after.line)
			}
			if err := c.finish(); err != nil {
				t.Error(err)
			}
			if report := c.reports.String(); tt.report == "" && report != "" || !strings.Contains(report, tt.report) {
				t.Errorf("reported %q, want %q", report, tt.report)
			}
		})
	}
}

func TestOverlongLine(t *testing.T) {
	c := start(t, nil).read()
	go func() {
		part := strings.Repeat("x", 1<<20)
		_, _ = c.in.Write([]byte(`{"id":9,"method":"ping","params":"`))
		for range 65 {
			_, _ = c.in.Write([]byte(part))
		}
		_, _ = c.in.Write([]byte("\"}\n{\"id\":10,\"method\":\"ping\"}\n"))
	}()
	if m := c.next(); string(m.ID) != "10" {
		t.Errorf("got %s", m.line)
	}
	if err := c.finish(); err != nil {
		t.Error(err)
	}
	if report := c.reports.String(); !strings.Contains(report, "line too long") {
		t.Errorf("reported %q", report)
	}
}

func TestLineInSingleBytesAndWithoutEnd(t *testing.T) {
	c := start(t, nil).read()
	for _, b := range []byte(`{"id":9,"method":"ping"}`) {
		c.raw(string(b))
	}
	c.in.Close()
	if m := c.next(); string(m.ID) != "9" {
		t.Errorf("got %s", m.line)
	}
	if err := c.result(); err != nil {
		t.Error(err)
	}
}

func TestIDInFlightIsRefused(t *testing.T) {
	c := start(t, lanes(&fakeLane{prompt: hang})).read()
	id := c.open("fake")
	turn := c.send("session/prompt", on(id, ""))
	c.raw(`{"id":` + turn + `,"method":"session/prompt","params":` + on(id, "") + "}\n")
	m := c.answer("null")
	if m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.Error.Message, turn) {
		t.Errorf("got %s", m.line)
	}
	c.call("session/cancel", on(id, ""))
	if m := c.answer(turn); m.Error != nil {
		t.Errorf("the first call got %s", m.line)
	}
}
