package op

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"
)

type thing struct {
	Name string            `json:"name"`
	Hash Nullable[string]  `json:"hash,omitzero"`
	Env  map[string]*int32 `json:"env,omitzero"`
	Max  *uint8            `json:"max,omitzero"`
	Next *thing            `json:"next,omitzero"`
}

func (t thing) Validate() error {
	if t.Name == "bad" {
		return BadRequest("name", "bad")
	}
	return nil
}

var (
	get = &Op[thing, struct{}]{Name: "test.get", Since: 1, Effect: Read}
	put = &Op[thing, struct{}]{
		Name: "test.put", Since: 1, Effect: Write,
		Keys: func(p *thing) []string { return []string{"thing:" + p.Name, "thing:a"} },
	}
	all = &Op[struct{}, struct{}]{Name: "test.all", Since: 1, Effect: Write}
	run = &Op[struct{ Streaming }, int]{Name: "test.run", Since: 1, Effect: Exec, Streaming: true}
)

func TestDecode(t *testing.T) {
	for raw, want := range map[string]string{
		`{"name":"x","hash":null,"env":{"a":null,"b":1},"max":255,"next":{"name":"y"}}`: "",
		`{"name":"x","max":256}`:             "max out_of_range",
		`{"name":"x","max":-1}`:              "max out_of_range",
		`{"name":"x","max":1e0}`:             "",
		`{"name":"x","env":{"a":1.5}}`:       "env.a wrong_type",
		`{"name":"x","hash":[]}`:             "hash wrong_type",
		`{"name":"x","next":{"name":"bad"}}`: "next.name bad",
		`{"name":"x","next":{}}`:             "next.name missing",
		`{"name":"x","name":"y"}`:            " duplicate_key",
		`{"name":"\ud800"}`:                  " invalid_json",
		`{"name":"x"} {}`:                    " invalid_json",
		`"x"`:                                " wrong_type",
		`{"name":null}`:                      "name wrong_type",
	} {
		p, err := get.Decode([]byte(raw))
		got := ""
		var e *Error
		if errors.As(err, &e) {
			key, _ := e.Data["key"].(string)
			got = key + " " + e.Reason()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
			continue
		}
		if err != nil {
			continue
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := get.Decode(again); err != nil || q.Name != p.Name || q.Hash.Given != p.Hash.Given {
			t.Errorf("%s became %s: %v", raw, again, err)
		}
	}
}

func TestSchemaOfARecursiveType(t *testing.T) {
	raw, err := json.Marshal(get.Describe().Params, json.Deterministic(true))
	if err != nil || !strings.Contains(string(raw), `"next":{"type":"object"}`) {
		t.Errorf("%s %v", raw, err)
	}
}

func TestMux(t *testing.T) {
	m := NewMux()
	put.Handle(m, func(_ context.Context, _ Call, p thing) (struct{}, error) {
		if p.Name != "x" {
			t.Errorf("params %+v", p)
		}
		return struct{}{}, nil
	})
	all.Handle(m, func(context.Context, Call, struct{}) (struct{}, error) { return struct{}{}, nil })
	run.Stream(m, func(context.Context, Call, struct{ Streaming }) (Work[int], error) {
		return Work[int]{Session: "s1", Do: func(context.Context, Run) (int, error) { return 7, nil }}, nil
	})
	m.Alias(func(key string) string { return strings.Replace(key, "thing:x", "thing:a", 1) })
	if got := m.Names(); !slices.Equal(got, []string{"test.all", "test.put", "test.run"}) {
		t.Errorf("names %v", got)
	}
	row, _ := m.Lookup("test.put")
	params, err := row.Decode([]byte(`{"name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Keys(row, params); !slices.Equal(got, []string{"thing:a"}) {
		t.Errorf("keys %v", got)
	}
	if _, err := row.Call(t.Context(), Call{}, params); err != nil {
		t.Error(err)
	}
	row, _ = m.Lookup("test.all")
	if got := m.Keys(row, struct{}{}); !slices.Equal(got, []string{"test"}) {
		t.Errorf("keys of a write without Keys %v", got)
	}
	row, _ = m.Lookup("test.run")
	params, err = row.Decode([]byte(`{"scope":"client"}`))
	if err != nil || row.Scope(params) != ScopeClient {
		t.Errorf("scope %v %v", params, err)
	}
	job, err := row.Start(t.Context(), Call{}, params)
	if err != nil || job.Session != "s1" {
		t.Fatalf("%+v %v", job, err)
	}
	if got, err := job.Do(t.Context(), nil); got != 7 || err != nil {
		t.Errorf("%v %v", got, err)
	}
	for name, bind := range map[string]func(){
		"twice":    func() { all.Handle(m, nil) },
		"as plain": func() { run.Handle(NewMux(), nil) },
		"as S":     func() { all.Stream(NewMux(), nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("bound %s", name)
				}
			}()
			bind()
		}()
	}
}

func TestAccess(t *testing.T) {
	for _, tt := range []struct {
		access Access
		effect Effect
		reason string
	}{
		{Access{}, Read, ""},
		{Access{Role: Observe}, Write, "role"},
		{Access{Role: Control}, Admin, ""},
		{Access{Role: Control, Descendant: true}, Read, ""},
		{Access{Role: Control, Descendant: true}, Agent, "descendant"},
	} {
		got := ""
		var e *Error
		if err := tt.access.Allows("x.y", tt.effect); errors.As(err, &e) {
			got = e.Reason()
		}
		if got != tt.reason {
			t.Errorf("%+v %s: %q", tt.access, tt.effect, got)
		}
	}
}

func TestIO(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Err: syscall.ENOENT}, "not_found"},
		{&fs.PathError{Err: syscall.EEXIST}, "exists"},
		{&fs.PathError{Err: syscall.ENOSPC}, "io_error ENOSPC"},
		{errors.New("odd"), "io_error EIO"},
		{context.Canceled, "cancelled"},
		{Conflict(ConflictMerge, "no"), "conflict"},
	} {
		e := IO(tt.err, "p")
		errno, _ := e.Data["errno"].(string)
		if got := strings.TrimSpace(string(e.Code) + " " + errno); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, got, tt.want)
		}
	}
}
