package core_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/core"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

func TestCheckLine(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":1,"op":"session.ping"}`:                                  "",
		`{"id":1,"op":"session.ping","params":{"x":1}}`:                 "bad_request unknown_key",
		`{"id":1,"op":"no.such"}`:                                       "unknown_op ",
		`{"op":"session.ping"}`:                                         "bad_request missing",
		`{"id":1,"ok":true,"result":{"anything":1},"more":2}`:           "",
		`{"id":1,"ok":true}`:                                            "bad_request missing",
		`{"id":1,"ok":false,"error":{"code":"no_buffer","message":""}}`: "",
		`{"id":1,"ok":false,"error":{"code":"other","message":""}}`:     "bad_request not_one_of",
		`{"id":[],"ok":true,"result":{}}`:                               "bad_request wrong_type",
		`{"event":"buffer.changed","seq":1,"params":{}}`:                "",
		`{"event":"buffer.changed","seq":"1","params":{}}`:              "bad_request wrong_type",
		`{"event":"buffer.shaken","params":{}}`:                         "bad_request not_one_of",
		`{"event":"buffer.changed"}`:                                    "bad_request missing",
		`[]`:                                                            "bad_request not_an_object",
		`{"id":1,"id":2}`:                                               "bad_request duplicate_key",
	} {
		got := ""
		if e := core.NewChecker().Check([]byte(line)); e != nil {
			got = string(e.Code) + " " + e.Reason()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// FuzzCheck holds that any line gets a verdict with a code and a reason, and
// that a request's id can be echoed.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"op":"session.ping"}`, `{"id":"\u00e9","op":"buffer.get","params":{"buffer":"b"}}`,
		`{"event":"run.ended","seq":1,"params":{}}`, `{"id":null,"ok":false,"error":{"code":"stale","message":""}}`,
		`{"id":1e400,"op":"x.y"}`, `{"op":1,"id":[]}`, "{\"id\":\"\xff\"}", `{`,
	} {
		f.Add([]byte(s))
	}
	c := core.NewChecker()
	var s ndjson.Scanner
	s.Limits.Depth = core.MaxDepth
	f.Fuzz(func(t *testing.T, line []byte) {
		if e := c.Check(line); e != nil && e.Code == op.CodeBadRequest && e.Reason() == "" {
			t.Fatalf("%q: %v", line, e)
		}
		if s.Scan(line) != nil {
			return
		}
		r, _ := core.ParseRequest(&s, line)
		if !jsontext.Value(r.ID).IsValid() || (len(r.ID) != 4 && !bytes.Contains(line, r.ID)) {
			t.Fatalf("%q: id %q", line, r.ID)
		}
	})
}
