package acp_test

import (
	"strings"
	"testing"

	"dragoman/wire/acp"
)

func TestObject(t *testing.T) {
	o := acp.Object(` { "a" : "x\ny" , "n":null,"i":-7,"f":1.5,"t":true,"o":{"p":"q"},"l":[1, "two" ,[3]],"b":"\\","e":"" }`)
	o = acp.Object(strings.TrimSpace(string(o)))
	if s, ok := o.Text("a"); s != "x\ny" || !ok {
		t.Errorf("a = %q, %v", s, ok)
	}
	if s, ok := o.Text("e"); s != "" || !ok {
		t.Errorf("e = %q, %v", s, ok)
	}
	if s, ok := o.Text("i"); s != "" || ok {
		t.Errorf("i as a text = %q, %v", s, ok)
	}
	if got := o.Get("n"); got != nil {
		t.Errorf("null = %s, want absent", got)
	}
	if n, ok := o.Int("i"); n != -7 || !ok {
		t.Errorf("i = %d, %v", n, ok)
	}
	if _, ok := o.Int("f"); ok {
		t.Error("1.5 is no integer")
	}
	if n, ok := o.Float("f"); n != 1.5 || !ok {
		t.Errorf("f = %v, %v", n, ok)
	}
	if !o.True("t") || o.True("a") || o.True("missing") {
		t.Error("True")
	}
	if got := o.Object("o").Str("p"); got != "q" {
		t.Errorf("o.p = %q", got)
	}
	if o.Object("l") != nil || acp.AsObject(nil) != nil || acp.Object(nil).Get("x") != nil {
		t.Error("something that isn't an object has members")
	}
	if list, ok := o.List("l"); !ok || len(list) != 3 || string(list[1]) != `"two"` {
		t.Errorf("l = %s, %v", list, ok)
	}
	if _, ok := o.List("o"); ok {
		t.Error("an object is no list")
	}
	var keys []string
	o.Each(func(key, _ []byte) bool {
		keys = append(keys, string(key))
		return len(keys) < 3
	})
	if got := strings.Join(keys, ""); got != "ani" {
		t.Errorf("Each gave %q", got)
	}
}

func TestSet(t *testing.T) {
	tests := []struct{ object, want string }{
		{`{}`, `{"k":1}`},
		{`{ "a":2 }`, `{ "a":2 ,"k":1}`},
		{`{"k" : "old","a":2}`, `{"k" : 1,"a":2}`},
		{`{"a":2,"k":{"b":[]}}`, `{"a":2,"k":1}`},
		{`null`, `{"k":1}`},
	}
	for _, tt := range tests {
		before := tt.object
		if got := string(acp.Object(tt.object).Set("k", []byte("1"))); got != tt.want || tt.object != before {
			t.Errorf("Set in %s = %s, want %s", tt.object, got, tt.want)
		}
	}
}

func TestCleanID(t *testing.T) {
	tests := []struct{ id, want string }{
		{"gpt-5.5[high]", "gpt-5.5[high]"},
		{"p/m (new) ü=,+:_", "pmnew=,+:_"},
		{strings.Repeat("é", 10) + strings.Repeat("x", 200), strings.Repeat("x", 160)},
	}
	for _, tt := range tests {
		if got := acp.CleanID(tt.id); got != tt.want {
			t.Errorf("CleanID(%q) = %q, want %q", tt.id, got, tt.want)
		}
	}
}
