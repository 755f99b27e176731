package usage

import (
	"fmt"
	"testing"

	"dragoman/wire/agent"
)

func show(u *agent.Usage) string {
	if u == nil {
		return "nil"
	}
	s := ""
	for _, n := range []*int64{u.Input, u.CachedInput, u.CachedWrite, u.Output, u.Thought, u.Total} {
		if n == nil {
			s += "- "
		} else {
			s += fmt.Sprint(*n, " ")
		}
	}
	return s
}

func TestEveryName(t *testing.T) {
	for i, names := range [][]string{input, cachedInput, cachedWrite, output, thought, total} {
		for _, name := range names {
			got := show(Read(fmt.Appendf(nil, `{"x":1,%q:42}`, name)))
			want := ""
			for j := range 6 {
				if j == i {
					want += "42 "
				} else {
					want += "- "
				}
			}
			if got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
}

func TestRead(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"input":5,"output":6,"cacheRead":1}`, "5 1 - 6 - - "},
		{`{"inputTokens":2,"input_tokens":1}`, "1 - - - - - "},
		{`{"input":0}`, "0 - - - - - "},
		{`{"input":-1,"input_tokens":3}`, "3 - - - - - "},
		{`{"input":1.5,"output":"6","total_tokens":null}`, "nil"},
		{`{}`, "nil"},
		{`[1]`, "nil"},
		{`7`, "nil"},
		{`{"total_tokens":9223372036854775808}`, "nil"},
	}
	for _, tt := range tests {
		if got := show(Read([]byte(tt.in))); got != tt.want {
			t.Errorf("Read(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
}
