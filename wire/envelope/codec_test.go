package envelope_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/wire/envelope"
	"dragoman/wire/ndjson"
)

func clock() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 5e6, time.UTC) }

func TestEncode(t *testing.T) {
	retry := true
	tests := []struct {
		e    envelope.Envelope
		want string
	}{
		{
			envelope.Envelope{Kind: envelope.Hello, Capabilities: []string{"a", "b.c"}, Implementation: `x "1" é`},
			`"kind":"hello","messageId":"m1","sentAt":"2026-12-01T00:00:00.005Z","capabilities":["a","b.c"],"implementation":"x \"1\" é"}`,
		},
		{
			envelope.Envelope{Kind: envelope.Hello},
			`"kind":"hello","messageId":"m1","sentAt":"2026-12-01T00:00:00.005Z","capabilities":[]}`,
		},
		{
			envelope.Envelope{Kind: envelope.Request, RequestID: "r1", Operation: "a", Input: []byte("{\n\"n\":\r\n 9007199254740993, \"s\":\"\\/\\n\"}")},
			`"kind":"request","messageId":"m1","sentAt":"2026-12-01T00:00:00.005Z","requestId":"r1","operation":"a","input":{ "n":   9007199254740993, "s":"\/\n"}}`,
		},
		{
			envelope.Envelope{Kind: envelope.Event, RequestID: "r1", Event: "completed"},
			`"kind":"event","messageId":"m1","sentAt":"2026-12-01T00:00:00.005Z","requestId":"r1","event":"completed"}`,
		},
		{
			envelope.Envelope{Kind: envelope.Event, RequestID: "r1", Event: "x", Output: []byte("{}")},
			`"kind":"event","messageId":"m1","sentAt":"2026-12-01T00:00:00.005Z","requestId":"r1","event":"x","output":{}}`,
		},
		{
			envelope.Envelope{Kind: envelope.Cancel, RequestID: "r1"},
			`"kind":"cancel","messageId":"m1","sentAt":"2026-12-01T00:00:00.005Z","requestId":"r1"}`,
		},
		{
			envelope.Envelope{Kind: envelope.ErrorKind, RequestID: "r1", Code: "X", Message: "m", Retryable: &retry},
			`"kind":"error","messageId":"m1","sentAt":"2026-12-01T00:00:00.005Z","requestId":"r1","code":"X","message":"m","retryable":true}`,
		},
		{
			envelope.Envelope{Kind: envelope.ErrorKind, Code: "X"},
			`"kind":"error","messageId":"m1","sentAt":"2026-12-01T00:00:00.005Z","code":"X","message":""}`,
		},
	}
	for _, tt := range tests {
		got, err := envelope.NewEncoder(envelope.Limits{}, clock).Encode(&tt.e)
		if want := `{"protocolVersion":"1.0",` + tt.want; err != nil || string(got) != want {
			t.Errorf("got %s and %v, want %s", got, err, want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	c := envelope.NewEncoder(envelope.Limits{}, clock)
	for _, tt := range []struct {
		why string
		e   envelope.Envelope
	}{
		{envelope.ErrorKind.String(), envelope.Envelope{Kind: envelope.Event, RequestID: "r1", Event: "Done"}},
		{"an input with a duplicate key", envelope.Envelope{Kind: envelope.Request, RequestID: "r1", Operation: "a", Input: []byte(`{"a":1,"a":2}`)}},
		{"an input that breaks out", envelope.Envelope{Kind: envelope.Request, RequestID: "r1", Operation: "a", Input: []byte(`{}},{`)}},
		{"no input", envelope.Envelope{Kind: envelope.Request, RequestID: "r1", Operation: "a"}},
		{"no kind", envelope.Envelope{}},
		{"a message over its limit", envelope.Envelope{Kind: envelope.ErrorKind, Code: "X", Message: strings.Repeat("ä", 2049)}},
		{"a line over the limit", envelope.Envelope{Kind: envelope.Event, RequestID: "r1", Event: "x", Output: []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)}},
	} {
		if line, err := c.Encode(&tt.e); err == nil {
			t.Errorf("%s: got %.200s", tt.why, line)
		}
	}
}

// What was read is written again with the same meaning, byte for byte where
// it is the agent's or the user's own JSON.
func TestRoundTrip(t *testing.T) {
	d := envelope.NewDecoder(envelope.Limits{})
	for _, line := range validFixtures(t) {
		first, err := d.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		again, err := envelope.NewDecoder(envelope.Limits{}).Decode(envelope.Append(nil, first))
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if again.Kind != first.Kind || again.MessageID != first.MessageID || again.RequestID != first.RequestID ||
			again.SentAt != first.SentAt || again.Message != first.Message || again.Code != first.Code ||
			!bytes.Equal(again.Input, first.Input) || !bytes.Equal(again.Output, first.Output) ||
			strings.Join(again.Capabilities, " ") != strings.Join(first.Capabilities, " ") {
			t.Errorf("got %+v, want %+v", again, first)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"{\"a\":\x01\xff é}", `{\"a\":\x01\xff \u00e9}`},
		{strings.Repeat("x", 300), strings.Repeat("x", 200)},
		{strings.Repeat("x", 199) + "é", strings.Repeat("x", 199)},
		{strings.Repeat("x", 198) + "é", strings.Repeat("x", 198) + `\u00e9`},
		{"", ""},
	} {
		if got := envelope.Excerpt([]byte(tt.line)); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// A line over the limit is never held whole.
func TestGarbageLineInConstantMemory(t *testing.T) {
	const size = 100 << 20
	garbage := io.MultiReader(io.LimitReader(zeros{}, size), strings.NewReader("\n"+`{"protocolVersion":"1.0","kind":"cancel","messageId":"m1","sentAt":"2026-12-01T00:00:00Z","requestId":"r1"}`+"\n"))
	r := ndjson.NewReader(garbage, ndjson.ReaderOptions{MaxLineBytes: envelope.DefaultLineBytes})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.Next()
	runtime.ReadMemStats(&after)
	long, ok := err.(*ndjson.LineTooLongError)
	if !ok || long.Size != size {
		t.Fatalf("got %v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*envelope.DefaultLineBytes {
		t.Errorf("%d bytes were allocated for a line of %d", used, size)
	}
	line, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envelope.NewDecoder(envelope.Limits{}).Decode(line); err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Deep and long values are refused without memory for them.
func TestBudgetsCostNothing(t *testing.T) {
	d := envelope.NewDecoder(envelope.Limits{})
	for _, line := range [][]byte{
		bytes.Repeat([]byte("["), envelope.DefaultLineBytes),
		append([]byte(`{"a":[0`), bytes.Repeat([]byte(",0"), 500_000)...),
		append([]byte(`{"a":"`), bytes.Repeat([]byte("x"), 1_000_000)...),
	} {
		allocs := testing.AllocsPerRun(3, func() {
			if _, err := d.Decode(line); err == nil || err.(*envelope.Error).Code != envelope.BudgetExceeded {
				t.Errorf("got %v", err)
			}
		})
		if allocs > 8 {
			t.Errorf("%g allocations for %.10q…", allocs, line)
		}
	}
}
