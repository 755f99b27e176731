package core_test

import (
	"testing"

	"dragoman/wire/core"
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
