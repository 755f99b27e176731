package core

import (
	"strings"
	"testing"
)

func TestLinesThatAreNoRequest(t *testing.T) {
	refused := func(id, data string) string {
		return `{"id":` + id + `,"ok":false,"error":{"code":"bad_request","message":"…","data":` + data + `}}`
	}
	deep := `{"id":1,"op":"session.ping","params":{"a":` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}}`
	tests := []struct{ name, line, want string }{
		{"no JSON", `{"id":`, refused("null", `{"offset":…,"reason":"invalid_json"}`)},
		{"not UTF-8", "{\"id\":\"\xff\"}", refused("null", `{"offset":7,"reason":"invalid_utf8"}`)},
		{"duplicate key", `{"id":1,"id":2,"op":"session.ping"}`, refused("null", `{"offset":…,"reason":"duplicate_key"}`)},
		{"lone surrogate", `{"id":"\ud800","op":"session.ping"}`, refused("null", `{"offset":…,"reason":"lone_surrogate"}`)},
		{"too deep", deep, refused("null", `{"offset":…,"reason":"too_deep"}`)},
		{"an array", `[1]`, refused("null", `{"reason":"not_an_object"}`)},
		{"no id", `{"op":"session.ping"}`, refused("null", `{"key":"id","reason":"missing"}`)},
		{"id is an object", `{"id":{},"op":"session.ping"}`, refused("null", `{"key":"id","reason":"wrong_type"}`)},
		{"unknown member", `{"id":1,"op":"session.ping","x":1}`, refused("1", `{"key":"x","reason":"unknown_key"}`)},
		{"no op", `{"id":1}`, refused("1", `{"key":"op","reason":"missing"}`)},
		{"op is a number", `{"id":1,"op":2}`, refused("1", `{"key":"op","reason":"wrong_type"}`)},
		{"unknown op", `{"id":1,"op":"no.such"}`, `{"id":1,"ok":false,"error":{"code":"unknown_op","message":"…"}}`},
		{"unknown param", `{"id":1,"op":"session.ping","params":{"x":1}}`, refused("1", `{"key":"x","reason":"unknown_key"}`)},
		{"null params", `{"id":1,"op":"session.ping","params":null}`, `{"id":1,"ok":true,"result":{}}`},
		{"no params", `{"id":1,"op":"session.ping"}`, `{"id":1,"ok":true,"result":{}}`},
		{"id byte for byte", `{"id":"\u00e9\/","op":"session.ping"}`, `{"id":"\u00e9\/","ok":true,"result":{}}`},
		{"a large number as id", `{"id":12345678901234567890.50e+01,"op":"session.ping"}`, `{"id":12345678901234567890.50e+01,"ok":true,"result":{}}`},
		{"null as id", `{"id":null,"op":"session.ping"}`, `{"id":null,"ok":true,"result":{}}`},
		{"CR LF", `{"id":1,"op":"session.ping"}` + "\r", `{"id":1,"ok":true,"result":{}}`},
		{"a streaming op before hello", `{"id":1,"op":"exec.run","params":{"argv":["x"]}}`, refused("1", `{"reason":"hello_required"}`)},
		{"subscribe before hello", `{"id":1,"op":"session.subscribe","params":{"events":[]}}`, refused("1", `{"reason":"hello_required"}`)},
		{"no unit of ours", `{"id":1,"op":"session.hello","params":{"positionEncoding":["utf-7"]}}`, refused("1", `{"key":"positionEncoding","reason":"not_one_of"}`)},
	}
	w := newWorld(t, bindRuns)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := w.dial(control)
			p.t = t
			p.send(tt.line)
			p.want(tt.want)
			p.send(`{"id":"after","op":"session.ping"}`)
			p.want(`{"id":"after","ok":true,"result":{}}`)
		})
	}
}

func TestLastLineWithoutLF(t *testing.T) {
	w := newWorld(t, nil)
	p := w.dial(control)
	p.send("\ufeff" + `{"id":1,"op":"session.ping"}`)
	if _, err := p.conn.Write([]byte(`{"id":2,"op":"session.ping"}`)); err != nil {
		t.Fatal(err)
	}
	if err := p.conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got := []string{p.line(), p.line()}
	if all := strings.Join(got, " "); !strings.Contains(all, `"id":1,"ok":true`) || !strings.Contains(all, `"id":2,"ok":true`) {
		t.Errorf("got %s", all)
	}
}
