package jsonrpc

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dragoman/wire/ndjson"
)

// problems collects what OnProblem is told.
func problems(o Options) (*[]Problem, Options) {
	var got []Problem
	o.OnProblem = func(p Problem) { got = append(got, p) }
	return &got, o
}

func TestStrictSkipsBrokenLines(t *testing.T) {
	got, o := problems(Options{Handler: echo, MaxLineBytes: 8000})
	l := newLink(t, o)
	l.send(`{"id":1,"method":"m","params":"`+strings.Repeat("x", 9000)+`"}`, `{"id":1,"id":2,"method":"m"}`,
		`{"id":1,"method":"\ud800"}`, "{\"id\":1,\"method\":\"\xff\"}", strings.Repeat("[", 7999), `banner`, `{"id":4,"method":"m"}`)
	l.want(`{"jsonrpc":"2.0","id":4,"result":null}`)
	want := []Problem{
		{Line: 1, Code: LineTooLong, Offset: 8000}, {Line: 2, Code: ndjson.DuplicateKey, Offset: 8},
		{Line: 3, Code: ndjson.LoneSurrogate, Offset: 18}, {Line: 4, Code: ndjson.InvalidUTF8, Offset: 18},
		{Line: 5, Code: ndjson.TooDeep, Offset: 1000}, {Line: 6, Code: ndjson.InvalidJSON},
	}
	if len(*got) != len(want) {
		t.Fatalf("got %+v", *got)
	}
	for i, p := range *got {
		if p.Err == nil {
			t.Errorf("%d: no error", i)
		}
		if p.Err = nil; p != want[i] {
			t.Errorf("got %+v, want %+v", p, want[i])
		}
	}
	if s := l.peer.Stats(); s.Unreadable != 6 || s.Repaired != 0 || s.Lines != 7 {
		t.Errorf("got %+v", s)
	}
}

func TestLenientRepairs(t *testing.T) {
	got, o := problems(Options{Lenient: true, Handler: echo})
	l := newLink(t, o)
	l.send("banner", "more", "42", `{"level":"info"}`, `{"id":1,"method":"m","params":["\ud800"]}`, `{"id":1,"method":"x","id":2,"method":"m","params":{"a":1,"a":2}}`)
	l.want(`{"jsonrpc":"2.0","id":1,"result":["`+"\ufffd"+`"]}`, `{"jsonrpc":"2.0","id":2,"result":{"a":2}}`)
	if len(*got) != 2 || (*got)[0].Repaired || !(*got)[1].Repaired || (*got)[1].Code != ndjson.LoneSurrogate {
		t.Errorf("got %+v", *got)
	}
	if s := l.peer.Stats(); s.Repaired != 2 || s.Unreadable != 2 {
		t.Errorf("got %+v", s)
	}
}

func TestLenientFailsUnreadableReplies(t *testing.T) {
	long := strings.Repeat("x", 20000)
	tests := []struct {
		name, line string
		fails      bool
	}{
		{"broken behind the id", `{"jsonrpc":"2.0","id":1,"result":{"a":tru`, true},
		{"id as text", `{"id":"1","error":{"code":`, true},
		{"overlong, id in front", `{"id":1,"result":"` + long + `"}`, true},
		{"overlong, id at the end", `{"result":"` + long + `","id":1}`, true},
		{"overlong, id before the end", `{"result":"` + long + `","id": 1 ,"jsonrpc":"2.0"}`, true},
		{"id at the end of a broken line", `{"result":{"a":x},"id":1}`, true},
		{"another id", `{"id":2,"result":[`, false},
		{"a nested id", `{"result":{"id":1,"a":x}}`, false},
		{"overlong with a nested id at the end", `{"method":"n","params":{"text":"` + long + `","id":1}}`, false},
		{"overlong request", `{"id":1,"method":"m","params":"` + long + `"}`, false},
		{"notification", `{"method":"m","params":{"result":1,"id":1,}}`, false},
		{"id in a string", `{"result":"\"id\":1","x":y`, false},
		{"number cut off", `{"result":1,"id":1`, false},
		{"log line", `[INFO] {"id":1,"result":2}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLink(t, Options{Lenient: true, MaxLineBytes: 10000, Handler: echo})
			c, err := l.peer.Start("m", nil)
			if err != nil {
				t.Fatal(err)
			}
			l.want(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
			l.send(tt.line, `{"id":9,"method":"m"}`)
			l.want(`{"jsonrpc":"2.0","id":9,"result":null}`)
			settled := false
			select {
			case <-c.Done():
				settled = true
			default:
			}
			if settled != tt.fails {
				t.Fatalf("settled: %v", settled)
			}
			l.send(`{"id":1,"result":5}`)
			result, err := c.Wait(t.Context())
			if tt.fails != errors.Is(err, ErrUnreadableReply) || !tt.fails && string(result) != "5" {
				t.Errorf("got %s, %v", result, err)
			}
		})
	}
}

func FuzzPeer(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"result":{}}`, `{"id":"1","error":{"code":1}}`, `{"id":1,"method":"go"}` + "\n" + `{"id":1,"method":"go"}`, `[1]`,
		`{"method":"$/cancel_request","params":{"id":1}}`, `{"id":1,"result":"\ud800`, `{"result":tru,"id":1}`, "\xff\n{\"a\":1,\"a\":2}",
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, in []byte, lenient bool) {
		var out strings.Builder
		w := ndjson.NewWriter(&out, ndjson.WriterOptions{})
		p := NewPeer(strings.NewReader(string(in)), w, Options{Lenient: lenient, MaxLineBytes: 200, Handler: funcs{request: func(_ context.Context, r *Request) {
			if r.Method == "go" {
				r.Go(func(_ context.Context, r *Request) { _ = r.Reply(r.Params) })
			} else {
				_ = r.Reply(r.ID)
			}
		}}})
		c, err := p.Start("m", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Serve(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.Done():
		default:
			t.Fatal("the call didn't settle")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var s ndjson.Scanner
		for line := range strings.Lines(out.String()) {
			if err := s.Scan([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
				t.Fatalf("we wrote %q: %v", line, err)
			}
		}
	})
}
