package template

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestArgs(t *testing.T) {
	full := Values{Prompt: "a {model} b", Effort: "low", Cwd: "/w"}
	full.SetModel("p/m1")
	tests := []struct {
		name string
		v    Values
		in   []string
		want []string
	}{
		{"filled once", full, []string{"--p", "{prompt}", "--model={model}", "x{cwd}y{cwd}"},
			[]string{"--p", "a {model} b", "--model=p/m1", "x/wy/w"}},
		{"model split", full, []string{"{modelProvider}", "{modelId}"}, []string{"p", "m1"}},
		{"absent goes with its flag", Values{}, []string{"-k", "{effort}", "z"}, []string{"z"}},
		{"no flag before", Values{}, []string{"k", "{effort}", "z"}, []string{"k", "z"}},
		{"flag with a brace stays", Values{}, []string{"-k{", "{effort}"}, []string{"-k{"}},
		{"first argument", Values{}, []string{"{effort}", "z"}, []string{"z"}},
		{"two absent ones", Values{}, []string{"-a", "{model}", "{effort}"}, []string{}},
		{"an argument before that was dropped", Values{}, []string{"-x", "--{mode}", "{effort}"}, []string{"-x"}},
		{"ends in ={absent}", Values{}, []string{"-f", "model={model}", "pre{effort}={model}"}, []string{"-f"}},
		{"={present} stays", Values{Model: "m"}, []string{"a{effort}={model}"}, []string{"a=m"}},
		{"--{absent}", Values{}, []string{"-x", "--{mode}"}, []string{"-x"}},
		{"inside longer text", Values{}, []string{"x{mode}y", "-{mode}"}, []string{"xy", "-"}},
		{"absent ids stay", Values{}, []string{"a{sessionId}b", "c{turnId}"}, []string{"a{sessionId}b", "c{turnId}"}},
		{"an absent id alone goes", Values{}, []string{"-r", "{sessionId}"}, []string{}},
		{"unknown names and braces", full, []string{"lit{", "{unknown}", "{secret:X}", "{{effort}}", "{}", "{prompt", "}"},
			[]string{"lit{", "{unknown}", "{secret:X}", "{low}", "{}", "{prompt", "}"}},
		{"an empty value is not absent", Values{Mode: ""}, []string{"-m", "{mode}"}, []string{"-m", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.v.Args(tt.in); !slices.Equal(got, tt.want) {
				t.Errorf("Args(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestSetModel(t *testing.T) {
	v := Values{}
	v.SetModel("a/b/c")
	v.SetModel("solo")
	if _, ok := v[ModelProvider]; ok || v[ModelID] != "solo" || v[Model] != "solo" {
		t.Errorf("after a model without a slash: %v", v)
	}
	v.SetModel("a/b/c")
	if v[ModelProvider] != "a" || v[ModelID] != "b/c" {
		t.Errorf("split at the first slash: %v", v)
	}
}

func TestJSON(t *testing.T) {
	v := Values{Prompt: "q\"\n{model}é\u2028", Cwd: "/w"}
	tests := []struct{ name, in, want string }{
		{"order and compact", ` { "b" : "{cwd}", "a":[1, 2.50,true,null] } `, `{"b":"/w","a":[1,2.50,true,null]}`},
		{"filled once", `{"t":"<{prompt}>"}`, "{\"t\":\"<q\\\"\\n{model}é\u2028>\"}"},
		{"absent members go", `{"m":"{model}","x":{"e":"{effort}"},"n":1}`, `{"x":{},"n":1}`},
		{"absent in an array or text", `["{model}","a{model}b","{cwd}"]`, `["","ab","/w"]`},
		{"absent ids in text", `{"a":"x{sessionId}"}`, `{"a":"x"}`},
		{"secrets", `{"k":"{secret:A}","l":["{secret:A}",1],"t":"x {secret:A}"}`, `{"l":[1],"t":"x {secret:A}"}`},
		{"names of members stay", `{"{cwd}":"{cwd}"}`, `{"{cwd}":"/w"}`},
		{"a scalar", `"{cwd}"`, `"/w"`},
		{"an absent scalar", `"{model}"`, `null`},
		{"empty containers", `{"a":{},"b":[]}`, `{"a":{},"b":[]}`},
		{"escapes are rewritten", `{"a":"\u00e9\/"}`, `{"a":"é/"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := v.JSON([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("JSON(%s) = %s, %v; want %s", tt.in, got, err, tt.want)
			}
		})
	}
	if _, err := v.JSON([]byte(`{"a":`)); err == nil {
		t.Error("broken JSON was accepted")
	}
	got, err := v.StdinJSON([]byte(`{"a":"x{sessionId}","b":"{secret:A}","c":"{turnId}"}`))
	if want := `{"a":"x{sessionId}","b":"{secret:A}"}`; err != nil || string(got) != want {
		t.Errorf("StdinJSON = %s, %v; want %s", got, err, want)
	}
}

func TestHolds(t *testing.T) {
	if !ArgsHold([]string{"a", "x{model}y"}, Effort, Model) || ArgsHold([]string{"{effortx}"}, Effort) {
		t.Error("ArgsHold is wrong")
	}
	if !JSONHolds([]byte(`{"a":[{"b":"-{effort}"}]}`), Effort) {
		t.Error("a placeholder in a leaf wasn't found")
	}
	if JSONHolds([]byte(`{"{effort}":1,"a":"{model}"}`), Effort) {
		t.Error("the name of a member counted")
	}
}

// FuzzOnce checks that what is put in is never expanded again: with values
// that spell placeholders, the output is the template's text and the values,
// whole and in order.
func FuzzOnce(f *testing.F) {
	f.Add("a{prompt}b{model}", "{model}", "{prompt}")
	f.Add("{{prompt}}", "prompt", "x")
	f.Add("{pro{prompt}mpt}", "", "{")
	f.Fuzz(func(t *testing.T, text, prompt, model string) {
		v := Values{Prompt: prompt, Model: model}
		want, rest := "", text
		for rest != "" {
			switch {
			case strings.HasPrefix(rest, "{prompt}"):
				want, rest = want+prompt, rest[len("{prompt}"):]
			case strings.HasPrefix(rest, "{model}"):
				want, rest = want+model, rest[len("{model}"):]
			case anyName(rest):
				t.Skip("absent placeholders have a test of their own")
			default:
				want, rest = want+rest[:1], rest[1:]
			}
		}
		if got := v.Args([]string{text}); len(got) != 1 || got[0] != want {
			t.Errorf("Args(%q) = %q, want %q", text, got, want)
		}
	})
}

func anyName(text string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(text, "{"+n+"}") })
}

// FuzzJSON checks that what comes out of a template is JSON.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":["{prompt}",{"b":"x{model}"}],"c":1e5}`, "\x00\"\\{model}")
	f.Add(`"{prompt}"`, "\xff")
	f.Fuzz(func(t *testing.T, tmpl, prompt string) {
		out, err := Values{Prompt: prompt}.JSON([]byte(tmpl))
		if err != nil {
			return
		}
		if !jsontext.Value(out).IsValid() {
			t.Fatalf("JSON(%s) = %s, which is no JSON", tmpl, out)
		}
	})
}
