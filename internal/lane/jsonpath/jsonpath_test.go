package jsonpath

import "testing"

func TestPath(t *testing.T) {
	const record = `{"a":{"b":"x","c":null,"d":[{"e":1}],"n":7},"":{"":"blank"},"a.b":"dotted"}`
	tests := []struct {
		path, raw, text string
	}{
		{"a.b", `"x"`, "x"},
		{"a.n", "7", ""},
		{"a.c", "", ""},
		{"a.d.e", "", ""},
		{"a.d.0", "", ""},
		{"a.b.c", "", ""},
		{"a", `{"b":"x","c":null,"d":[{"e":1}],"n":7}`, ""},
		{".", `"blank"`, "blank"},
		{"zz", "", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		raw, ok := Parse(tt.path).Find([]byte(record))
		if string(raw) != tt.raw && ok || ok != (tt.raw != "") {
			t.Errorf("Find(%q) = %s, %v; want %s", tt.path, raw, ok, tt.raw)
		}
		text, ok := Parse(tt.path).Text([]byte(record))
		if text != tt.text || ok != (tt.text != "") {
			t.Errorf("Text(%q) = %q, %v; want %q", tt.path, text, ok, tt.text)
		}
	}
	if _, ok := Parse("a").Find([]byte("[1]")); ok {
		t.Error("a path went through an array")
	}
}
