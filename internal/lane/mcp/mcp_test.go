package mcp

import (
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

func parseAll(t *testing.T, list ...string) []Server {
	t.Helper()
	var raw [][]byte
	for _, s := range list {
		raw = append(raw, []byte(s))
	}
	servers, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return servers
}

func TestParse(t *testing.T) {
	s := parseAll(t,
		`{"name":"a","command":"c","args":["x"],"env":[{"name":"K","value":"v"}]}`,
		`{"name":"b","type":"http","url":"http://h","headers":[{"name":"H","value":"w"}]}`,
		`{"name":"c","type":"stdio","command":"d","args":null}`)
	if s[0].Command != "c" || s[0].Args[0] != "x" || s[0].Env[0] != (Var{"K", "v"}) || s[1].URL != "http://h" || s[2].Type != "" {
		t.Errorf("servers %+v", s)
	}
	if got := Secrets(s); !slices.Equal(got, []string{"v", "w"}) {
		t.Errorf("secrets %q", got)
	}
	for _, bad := range []string{
		`{"bad":1}`, `{"name":"a"}`, `{"name":"","command":"c"}`, `{"name":"a","command":5}`, `7`,
		`{"name":"a","command":"c","args":"x"}`, `{"name":"a","command":"c","env":{"K":"v"}}`,
		`{"name":"a","type":"http"}`, `{"name":"a","type":"zzz","command":"c"}`,
	} {
		if _, err := Parse([][]byte{[]byte(bad)}); err == nil {
			t.Errorf("Parse(%s) succeeded", bad)
		}
	}
	twice := []byte(`{"name":"a","command":"c"}`)
	if _, err := Parse([][]byte{twice, twice}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a name twice: %v", err)
	}
}

func TestArgs(t *testing.T) {
	c := Config{Flag: "-c", Root: "mcp_servers", EnvVarsKey: "env_vars",
		ApprovalKey: "mode", ApprovalValue: "approve", Approved: []string{"m.x"}}
	servers := parseAll(t,
		`{"name":"m","command":"a \"b\"\\\n\u007f","args":["1","é"],"env":[{"name":"K","value":"secret"}]}`,
		`{"name":"m.x","command":"c"}`)
	got := c.Args(servers)
	want := []string{
		"-c", `mcp_servers.m.command="a \"b\"\\\u000A\u007F"`, "-c", `mcp_servers.m.args=["1","é"]`,
		"-c", `mcp_servers.m.env_vars=["K"]`,
		"-c", `mcp_servers."m.x".command="c"`, "-c", `mcp_servers."m.x".args=[]`,
		"-c", `mcp_servers."m.x".env_vars=[]`, "-c", `mcp_servers."m.x".mode="approve"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("Args =\n%q, want\n%q", got, want)
	}
	if strings.Contains(strings.Join(got, " "), "secret") {
		t.Error("the value of a variable is in argv")
	}
}

func TestCheck(t *testing.T) {
	k := func(name, value string) string {
		return `{"name":"` + name + `","command":"c","env":[{"name":"K","value":"` + value + `"}]}`
	}
	if err := (Config{}).Check(parseAll(t, k("a", "1"), k("b", "1"))); err != nil {
		t.Errorf("equal values conflict: %v", err)
	}
	err := (Config{}).Check(parseAll(t, k("a", "1one"), k("b", "2two")))
	if err == nil || strings.Contains(err.Error(), "1one") {
		t.Errorf("different values: %v", err)
	}
	if err := (Config{}).Check(parseAll(t, `{"name":"a","type":"sse","url":"u"}`)); err == nil {
		t.Error("a server at a URL was taken")
	}
	env := []string{"A=b"}
	got, err := AddEnv(env, parseAll(t, k("a", "1"), k("b", "1")))
	if err != nil || !slices.Equal(got, []string{"A=b", "K=1"}) {
		t.Errorf("AddEnv = %q, %v", got, err)
	}
	if _, err := AddEnv([]string{"K=2"}, parseAll(t, k("a", "1"))); err == nil {
		t.Error("the environment's own value was overruled")
	}
}

// FuzzTOML checks that a TOML parser reads back what was written.
func FuzzTOML(f *testing.F) {
	f.Add("a", "b\"\\\n")
	f.Add("x.y", "\x00\u2028")
	f.Fuzz(func(t *testing.T, name, value string) {
		name, value = strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(value, "?")
		args := Config{Flag: "-c", Root: "r", EnvVarsKey: "e"}.Args([]Server{{Name: name, Command: value, Args: []string{value}}})
		var doc struct {
			R map[string]struct {
				Command string
				Args    []string
			}
		}
		if err := toml.Unmarshal([]byte(args[1]+"\n"+args[3]), &doc); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if s := doc.R[name]; s.Command != value || len(s.Args) != 1 || s.Args[0] != value {
			t.Errorf("read back %+v, want name %q, value %q", doc.R, name, value)
		}
	})
}
