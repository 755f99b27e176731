package rpc

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// typed is the dialect of lines with a type, droid's that of full marks.
var (
	typed = obj{"methodField": "type", "stringIds": true, "paramsInline": true, "responseMethod": "response",
		"dataField": "data", "resultField": "data", "errorField": "error", "successField": "success", "commandField": "command"}
	marked = obj{"methodField": "method", "stringIds": true, "responseMethod": "response", "discriminantField": "type",
		"requestMarker": "request", "notificationMarker": "notification", "constFields": obj{"v": "2.0"}}
)

func envelopeOf(t testing.TB, e obj) *envelope {
	change := obj{}
	if e != nil {
		change["envelope"] = e
	}
	return parse(t, declared(change)).envelope
}

func TestEncode(t *testing.T) {
	e := envelopeOf(t, nil)
	tests := []struct{ name, got, want string }{
		{"a call", string(e.call("m", []byte(`{"a":1}`), []byte("1"))), `{"params":{"a":1},"method":"m","id":1}`},
		{"a call without params", string(e.call("m", null, []byte("1"))), `{"params":null,"method":"m","id":1}`},
		{"a notification", string(e.notification("m", []byte("{}"))), `{"params":{},"method":"m"}`},
		{"a refusal", string(e.refusal(message{id: []byte(`"q"`), method: "m"})), `{"id":"q","error":{"code":-32601,"message":"method not found"}}`},
		{"inline", string(envelopeOf(t, typed).call("m", []byte(`{"a":1,"b":[2]}`), []byte(`"a4aa-1"`))), `{"a":1,"b":[2],"type":"m","id":"a4aa-1"}`},
		{"inline null", string(envelopeOf(t, typed).call("m", null, []byte(`"a4aa-1"`))), `{"type":"m","id":"a4aa-1"}`},
		{"inline in the way", string(envelopeOf(t, typed).call("m", []byte(`{"id":9,"type":8,"c":7}`), []byte(`"a4aa-1"`))), `{"id":"a4aa-1","type":"m","c":7}`},
		{"a typed refusal", string(envelopeOf(t, typed).refusal(message{id: []byte(`{ "a": 1 }`), method: "m"})),
			`{"type":"response","command":"m","id":{"a":1},"success":false,"error":{"code":-32601,"message":"method not found"}}`},
		{"a marked call", string(envelopeOf(t, marked).call("m", []byte("{}"), []byte(`"a4aa-1"`))), `{"params":{},"v":"2.0","type":"request","method":"m","id":"a4aa-1"}`},
		{"a marked notification", string(envelopeOf(t, marked).notification("m", []byte("{}"))), `{"params":{},"v":"2.0","type":"notification","method":"m"}`},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
}

// show is a message in short.
func show(m message, err error) string {
	if err != nil {
		return err.Error()
	}
	switch m.kind {
	case reply:
		if m.failed {
			return "failed " + string(m.id) + " " + m.faultText()
		}
		return "reply " + string(m.id) + " " + string(m.result)
	case request:
		return "request " + string(m.id) + " " + m.method + " " + string(m.params)
	}
	return "notification " + m.method + " " + string(m.params)
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name     string
		envelope obj
		in, want string
	}{
		{"a reply", nil, `{"id":1,"result":{"a":1.0}}`, `reply 1 {"a":1.0}`},
		{"a reply without a result", nil, `{"id":1}`, `reply 1 null`},
		{"an error", nil, `{"id":1,"error":{"code":3,"message":"m"}}`, `failed 1 m`},
		{"an error as text", nil, `{"id":1,"error":"m"}`, `failed 1 m`},
		{"an error that says nothing", nil, `{"id":1,"error":{"code":3}}`, `failed 1 {"code":3}`},
		{"an error that is null", nil, `{"id":1,"result":1,"error":null}`, `failed 1 the agent refused`},
		{"a request", nil, `{"id":"q","method":"m","params":[1]}`, `request "q" m [1]`},
		{"a notification", nil, `{"method":"m"}`, `notification m null`},
		{"an id that is null", nil, `{"method":"m","id":null}`, `notification m null`},
		{"no method", nil, `{"level":"info"}`, `notification  {"level":"info"}`},
		{"no object", nil, `[1]`, "invalid_frame"},
		{"no JSON", nil, `x`, "invalid_frame"},
		{"too deep", nil, strings.Repeat("[", 2000), "invalid_frame"},
		{"typed reply", typed, `{"type":"response","command":"x","success":true,"id":"a4aa-1","data":2}`, `reply "a4aa-1" 2`},
		{"typed reply without success", typed, `{"type":"response","id":"a4aa-1","data":2}`, `failed "a4aa-1" the agent refused`},
		{"typed reply that failed", typed, `{"type":"response","success":false,"id":"a4aa-1","error":"no"}`, `failed "a4aa-1" no`},
		{"typed request", typed, `{"type":"ask","id":"q","data":{"t":1}}`, `request "q" ask {"t":1}`},
		{"declared data that is missing", typed, `{"type":"ev","x":1}`, `notification ev {"type":"ev","x":1}`},
		{"marked reply", marked, `{"type":"response","id":"a4aa-1","result":2}`, `reply "a4aa-1" 2`},
		{"marked notification", marked, `{"type":"notification","method":"m","params":{}}`, `notification m {}`},
		{"marked request", marked, `{"type":"request","method":"m","id":7}`, `request 7 m null`},
	}
	for _, tt := range tests {
		d := decoder{envelope: envelopeOf(t, tt.envelope)}
		if got := show(d.decode([]byte(tt.in))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// FuzzDecode: no frame breaks the decoder, what it returns is JSON and the
// frame may be overwritten afterwards; and what we write in an envelope reads
// back in it.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"result":{}}`, `{"type":"response","success":true,"id":"a4aa-1","data":2}`, `{"method":"m","params":"\ud800"}`,
		"{\"a\":\"\xff\",\"a\":1}", `{"id":{"x":1},"method":"m"}`, `{"error":null,"id":0}`,
	} {
		f.Add([]byte(seed), 0)
		f.Add([]byte(seed), 1)
		f.Add([]byte(seed), 2)
	}
	f.Fuzz(func(t *testing.T, frame []byte, which int) {
		envelopes := []obj{nil, typed, marked}
		e := envelopeOf(t, envelopes[uint(which)%3])
		d := decoder{envelope: e}
		m, err := d.decode(frame)
		if err != nil {
			return
		}
		before := show(m, nil)
		for i := range frame {
			frame[i] = 'x'
		}
		if got := show(m, nil); got != before {
			t.Errorf("the message changed with the frame: %s, was %s", got, before)
		}
		switch m.kind {
		case reply:
			if !jsontext.Value(m.result).IsValid() {
				t.Errorf("result %s", m.result)
			}
		case request:
			if !jsontext.Value(e.refusal(m)).IsValid() {
				t.Errorf("refusal %s", e.refusal(m))
			}
		default:
			if !jsontext.Value(rawEvent(m)).IsValid() {
				t.Errorf("event %s", rawEvent(m))
			}
			if c := e.call(m.method, m.params, []byte("1")); !jsontext.Value(c).IsValid() {
				t.Errorf("call %s", c)
			}
		}
	})
}
