package acp_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/acp"
	"dragoman/wire/ndjson"
)

// Of any valid JSON the readers make what an independent decoder finds, and
// never panic.
func FuzzReaders(f *testing.F) {
	for kind, body := range updates {
		f.Add([]byte(`{"sessionId":"s","update":{"sessionUpdate":"` + kind + `",` + body + `}}`))
	}
	for _, seed := range []string{
		`{}`, `[]`, `null`, `"text"`, `-1.5e3`, ` { "a" : [ 1 , { } ] , "update" : { "x" : "\\\"" } } `,
		`{"update":{"session\u0055pdate":"plan","content":{"type":"text","text":"\ud83d\ude00\\"}}}`,
		`{"toolCall":{"toolCallId":"c","content":[{"type":"diff","path":"p","newText":"n"}]},"options":[{"optionId":"a"}]}`,
		`{"configOptions":[{"id":"m","category":"model","type":"select","currentValue":"a","options":[{"group":"g","options":[{"value":"a"}]}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	var scanner ndjson.Scanner
	f.Fuzz(func(t *testing.T, line []byte) {
		if scanner.Scan(line) != nil {
			t.Skip("the peer lets only valid JSON through")
		}
		line = bytes.TrimSpace(line)
		checkMembers(t, line)
		if u, ok := acp.ReadUpdate(line); ok {
			checkUpdate(t, line, u)
		}
		o := acp.AsObject(line)
		acp.ReadToolCall(o)
		acp.ReadPermission(line)
		acp.ReadPrompted(line)
		acp.ReadInitialized(line)
		acp.FindSelect(o.Get("configOptions"), acp.CategoryModel)
		acp.ReadModels(line)
		list, _ := acp.List(line)
		acp.ReadMCPServers(list)
	})
}

// checkMembers compares Get, Set and List with jsontext.
func checkMembers(t *testing.T, line []byte) {
	var list []jsontext.Value
	if json.Unmarshal(line, &list) == nil && line[0] == '[' {
		got, ok := acp.List(line)
		if !ok || len(got) != len(list) {
			t.Fatalf("List(%s) has %d elements, want %d", line, len(got), len(list))
		}
		for i := range list {
			if !bytes.Equal(got[i], list[i]) {
				t.Fatalf("element %d of %s is %s, want %s", i, line, got[i], list[i])
			}
		}
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(line, &members) != nil || line[0] != '{' {
		return
	}
	o := acp.Object(line)
	for name, want := range members {
		if string(want) == "null" {
			want = nil
		}
		if got := o.Get(name); !bytes.Equal(got, want) {
			t.Fatalf("member %q of %s is %s, want %s", name, line, got, want)
		}
		var text string
		isText := json.Unmarshal(want, &text) == nil && len(want) > 0 && want[0] == '"'
		if got, ok := o.Text(name); ok != isText || got != text {
			t.Fatalf("text %q of %s is %q, %v, want %q, %v", name, line, got, ok, text, isText)
		}
		changed := o.Set(name, []byte(`"new"`))
		if got := changed.Str(name); got != "new" || !jsontext.Value(changed).IsValid() {
			t.Fatalf("Set(%q) of %s is %s", name, line, changed)
		}
	}
	added := o.Set("a name that isn't there", []byte("[]"))
	if !jsontext.Value(added).IsValid() || string(added.Get("a name that isn't there")) != "[]" {
		t.Fatalf("Set of a new member of %s is %s", line, added)
	}
}

// checkUpdate compares ReadUpdate with a decoder.
func checkUpdate(t *testing.T, line []byte, u acp.Update) {
	var want struct {
		Update jsontext.Value `json:"update"`
	}
	if err := json.Unmarshal(line, &want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(u.Raw, want.Update) {
		t.Fatalf("update of %s is %s, want %s", line, u.Raw, want.Update)
	}
	if kind := u.Raw.Str("sessionUpdate"); u.Kind != kind {
		t.Fatalf("kind of %s is %q, want %q", u.Raw, u.Kind, kind)
	}
	if content := u.Raw.Get("content"); !bytes.Equal(u.Content, content) {
		t.Fatalf("content of %s is %s, want %s", u.Raw, u.Content, content)
	}
}

func BenchmarkReadUpdate(b *testing.B) {
	params := []byte(`{"sessionId":"0195-6f0e","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"some forty bytes of text, like a token…"}}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(params)))
	for b.Loop() {
		u, ok := acp.ReadUpdate(params)
		if text, isText := acp.TextOf(u.Content); !ok || !isText || text == "" {
			b.Fatal("not read")
		}
	}
}
