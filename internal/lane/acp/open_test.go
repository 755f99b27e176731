package acp

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

const good = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`

func TestOpenFailures(t *testing.T) {
	silent := func(method string) func(*fake, rpcMessage) bool {
		return on(method, func(*fake, rpcMessage) {})
	}
	resume := func(l *lane.Launch) { l.Resume = "r" }
	tests := []struct {
		name string
		how  how
		want string
		says string
	}{
		{"the program is missing", how{launch: func(l *lane.Launch) { l.Starter = missing{} }},
			"agent_process_start_failed [process/start] no/no", "not exist"},
		{"exits before it answers", how{program: exits(3, "noise\nno key\n")},
			"agent_protocol_failed [session/open] yes/yes", "exited with code 3: no key"},
		{"exits after initialize", how{handle: on("session/new", func(f *fake, _ rpcMessage) { f.Out.(io.Closer).Close() })},
			"agent_protocol_failed [session/new] yes/yes", "output"},
		{"initialize is refused", how{handle: replies(map[string]string{"initialize": `!{"code":-32603,"message":"no"}`})},
			"agent_protocol_failed [initialize] yes/yes", "no"},
		{"version 2", how{handle: replies(map[string]string{"initialize": `{"protocolVersion":2}`})},
			"agent_protocol_version_unsupported [initialize] no/no", "version 2, this client speaks 1"},
		{"no version", how{handle: replies(map[string]string{"initialize": `{}`})},
			"agent_protocol_version_unsupported [initialize] no/no", "(none)"},
		{"initialize answered with a list", how{handle: replies(map[string]string{"initialize": `[]`})},
			"agent_protocol_failed [initialize] yes/yes", "not an object"},
		{"connect clock", how{handle: silent("initialize")},
			"agent_protocol_failed [initialize] yes/yes", "within 30s"},
		{"open clock", how{handle: silent("session/new")},
			"agent_protocol_failed [session/new] yes/yes", "within 2m0s"},
		{"quota", how{handle: replies(map[string]string{"session/new": `!{"code":-32603,"message":"Quota exceeded"}`})},
			"agent_quota_exhausted [session/new] yes/no", "Quota"},
		{"quota in the data", how{handle: replies(map[string]string{"session/new": `!{"code":-32603,"message":"Internal error","data":{"details":"429 Too Many Requests"}}`})},
			"agent_quota_exhausted [session/new] yes/no", "Internal error: 429"},
		{"auth without methods", how{handle: replies(map[string]string{"session/new": `!{"code":-32000,"message":"log in"}`})},
			"agent_auth_required [session/new] yes/no", "log in"},
		{"auth fails", how{handle: replies(map[string]string{
			"initialize":  `{"protocolVersion":1,"authMethods":[{"id":"one","name":"One"},{"id":"two","name":"Two"}]}`,
			"session/new": `!{"code":-32000,"message":"log in"}`, "authenticate": `!{"code":-1,"message":"never"}`,
		})}, "agent_auth_required [session/new] yes/no", "one, two"},
		{"unreadable reply", how{handle: replies(map[string]string{"session/new": `"text"`})},
			"agent_protocol_error [session/establish] no/no", "not an object"},
		{"null for a new session", how{handle: replies(map[string]string{"session/new": `null`})},
			"agent_protocol_error [session/establish] no/no", "not an object"},
		{"no session id", how{handle: replies(map[string]string{"session/new": `{"sessionId":5}`})},
			"agent_protocol_error [session/new] no/no", "sessionId"},
		{"resume isn't offered", how{launch: resume, handle: replies(map[string]string{"initialize": `{"protocolVersion":1}`})},
			"agent_session_resume_unsupported [session/resume] no/no", "neither"},
		{"a secret in the refusal", how{launch: func(l *lane.Launch) { l.Env = append(l.Env, "A_TOKEN=correct horse") },
			handle: replies(map[string]string{"session/new": `!{"code":-1,"message":"bad key correct horse"}`})},
			"agent_protocol_failed [session/new] yes/yes", "bad key [REDACTED]"},
		{"load is refused", how{launch: resume, handle: replies(map[string]string{"session/load": `!{"code":-32002,"message":"no such session"}`})},
			"agent_protocol_failed [session/load] yes/yes", "no such session"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := try(t, tt.how)
				if e := wantError(t, err, tt.want); !strings.Contains(e.Detail, tt.says) {
					t.Errorf("detail %q doesn't say %q", e.Detail, tt.says)
				}
				if err == nil {
					s.close()
				}
				if n := s.starter.Running(); n > 0 {
					t.Errorf("%d processes are left", n)
				}
			})
		})
	}
}

// missing starts nothing.
type missing struct{}

func (missing) Start(ctx context.Context, c lane.Command) (lane.Process, error) {
	c.Program = lanetest.MissingProgram
	return lanetest.PipeStarter(nil).Start(ctx, c)
}

// How a session is made or restored, and what the agent is told of us.
func TestSetup(t *testing.T) {
	tests := []struct {
		name   string
		spec   string
		init   string
		resume string
		want   string // a line that the agent must get
	}{
		{"client info", ``, good, "", `"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"dragoman","version":"1.2.3"}}`},
		{"client name", `"clientName":"my editor"`, good, "", `"clientInfo":{"name":"my editor","version":"1.2.3"}`},
		{"new", ``, good, "", `"method":"session/new","params":{"cwd":"/work dir","mcpServers":[]}`},
		{"servers", `"mcp_servers":[{"name":"m","command":"c","args":[],"env":[]}]`, good, "", `"mcpServers":[{"name":"m","command":"c","args":[],"env":[]}]`},
		{"resume", ``, good, "r", `"method":"session/resume","params":{"sessionId":"r","cwd":"/work dir","mcpServers":[]}`},
		{"prefer load", `"prefer_load":true`, good, "r", `"method":"session/load","params":{"sessionId":"r"`},
		{"load where resume isn't", ``, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`, "r", `"method":"session/load"`},
		{"resume where load isn't", `"preferLoad":true`, `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`, "r", `"method":"session/resume"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, how{
					spec: tt.spec, launch: func(l *lane.Launch) { l.Resume = tt.resume },
					handle: replies(map[string]string{"initialize": tt.init, "session/load": "null"}),
				})
				defer s.close()
				if len(s.sent.with(tt.want)) != 1 {
					t.Errorf("the agent didn't get %s:\n%s", tt.want, strings.Join(s.sent.all(), "\n"))
				}
				id := tt.resume
				if id == "" {
					id = fakeSession
				}
				if got := s.conn.Info().NativeID; got != id {
					t.Errorf("native id %q, want %q", got, id)
				}
				if got := s.said(1, "hi"); got != "echo: hi" {
					t.Errorf("text %q", got)
				}
			})
		})
	}
}

// authenticate is called with the key, or once after a refusal, and never
// because methods are listed.
func TestAuthenticate(t *testing.T) {
	const init = `{"protocolVersion":1,"authMethods":[{"id":"shell","name":"S","type":"terminal"},{"id":"one","name":"One"},{"id":"two","name":"Two"}]}`
	tests := []struct {
		name    string
		spec    string
		env     string
		refuses int // how often session/new is refused
		fails   string
		want    []string
	}{
		{"not asked for", ``, "", 0, "", nil},
		{"after a refusal", ``, "", 1, "", []string{`{"methodId":"one"}`}},
		{"the second succeeds", ``, "", 1, "one", []string{`{"methodId":"one"}`, `{"methodId":"two"}`}},
		{"with a key", `"auth_key":{"hostEnv":"KEY"}`, "k1", 0, "", []string{`{"methodId":"one","_meta":{"api_key":"k1"}}`}},
		{"with a key that fails", `"authKey":{"hostEnv":{"host_env":"KEY"}}`, "k1", 0, "one two",
			[]string{`{"methodId":"one","_meta":{"api_key":"k1"}}`, `{"methodId":"two","_meta":{"api_key":"k1"}}`}},
		{"a key that isn't set", `"auth_key":{"hostEnv":"KEY"}`, "", 0, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refuses := tt.refuses
				s := open(t, how{
					spec: strings.TrimPrefix(tt.spec+`,"command":{"program":"fake","env":{"inheritAll":{}}}`, ","),
					launch: func(l *lane.Launch) {
						if tt.env != "" {
							l.Env = append(l.Env, "KEY="+tt.env)
						}
					},
					handle: func(f *fake, m rpcMessage) bool {
						switch {
						case m.Method == "initialize":
							f.result(m.ID, init)
						case m.Method == "session/new" && refuses > 0:
							refuses--
							f.fail(m.ID, `{"code":-32000,"message":"log in"}`)
						case m.Method == "authenticate" && methodIn(m, tt.fails):
							f.fail(m.ID, `{"code":-1,"message":"no"}`)
						case m.Method == "authenticate":
							f.result(m.ID, "null")
						default:
							return false
						}
						return true
					},
				})
				defer s.close()
				calls := s.sent.with(`"authenticate"`)
				if len(calls) != len(tt.want) {
					t.Fatalf("calls %v, want %v", calls, tt.want)
				}
				for i, want := range tt.want {
					if !strings.Contains(calls[i], `"params":`+want) {
						t.Errorf("call %s, want params %s", calls[i], want)
					}
				}
			})
		})
	}
}

func methodIn(m rpcMessage, methods string) bool {
	for _, id := range strings.Fields(methods) {
		if strings.Contains(string(m.Params), `"`+id+`"`) {
			return true
		}
	}
	return false
}

// Updates before the open's answer come before it and belong to no turn;
// history is flagged on whichever side of the reply it comes, and never
// counted as the first turn's.
func TestReplay(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(map[bool]string{false: "before the reply", true: "after the reply"}[after], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				history := func(f *fake) {
					f.update(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
					f.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"q"}}`)
					time.Sleep(50 * time.Millisecond)
					f.chunk("a")
				}
				s := open(t, how{
					launch: func(l *lane.Launch) { l.Resume = "r" },
					handle: on("session/load", func(f *fake, m rpcMessage) {
						if !after {
							history(f)
						}
						f.result(m.ID, "null")
						if after {
							history(f)
						}
					}),
				})
				defer s.close()
				if got := s.said(1, "hi"); got != "echo: hi" {
					t.Errorf("the turn's text is %q", got)
				}
				want := []string{"commands false", "raw true", "message-chunk true"}
				for i, ev := range s.Events()[:3] {
					got := string(ev.Kind) + map[bool]string{true: " true", false: " false"}[ev.Replay]
					if got != want[i] || ev.Turn != 0 {
						t.Errorf("event %d: %s of turn %d, want %s of turn 0", i, got, ev.Turn, want[i])
					}
				}
				s.said(2, "again")
				for _, ev := range s.Events()[3:] {
					if ev.Replay {
						t.Errorf("%+v is no history", ev)
					}
				}
			})
		})
	}
}

// What the spec may not have, and what the environment may not pass.
func TestRefusals(t *testing.T) {
	env := func(policy string) string { return `"command":{"program":"p","env":` + policy + `}` }
	key := `,"auth_key":{"hostEnv":"KEY"}`
	tests := []struct {
		name, spec string
		wantErr    bool
	}{
		{"literal", env(`{"sanitized":{"set":{"KEY":"k"}}}`) + key, false},
		{"empty literal", env(`{"sanitized":{"set":{"KEY":""}}}`) + key, true},
		{"set from the host", env(`{"sanitized":{"set":{"KEY":{"hostEnv":"HOME"}}}}`) + key, true},
		{"inherit all", env(`{"inheritAll":{}}`) + key, false},
		{"inherit all with an empty literal", env(`{"inheritAll":{"set":{"KEY":""}}}`) + key, true},
		{"inherited", env(`{"sanitized":{"inherit":["HOME"]}}`) + `,"auth_key":{"hostEnv":"HOME"}`, false},
		{"not inherited", env(`{"sanitized":{}}`) + `,"auth_key":{"hostEnv":"HOME"}`, true},
		{"a secret", env(`{"inheritAll":{}}`) + `,"auth_key":{"secret":"KEY"}`, true},
		{"a text", env(`{"inheritAll":{}}`) + `,"auth_key":"KEY"`, true},
		{"prefer_load is a text", `"prefer_load":"yes"`, true},
		{"enforced_permission is a number", `"enforced_permission":5`, true},
		{"mcp_servers is a number", `"mcp_servers":5`, true},
		{"null counts as absent", `"mcp_servers":null,"auth_key":null,"prefer_load":null`, false},
		{"unknown members", `"bogus":1`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := Driver{}.Parse(spec(t, tt.spec))
			if err == nil {
				err = plan.CheckEnv()
			}
			if _, bad := err.(*agent.SpecError); bad != tt.wantErr || (err != nil) != tt.wantErr {
				t.Errorf("error %v, want one: %v", err, tt.wantErr)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, spec string
		o          agent.Options
		want       string
	}{
		{"model", ``, agent.Options{Model: opt(" "), Effort: opt("")}, "agent_model_unsupported [session/configuration] no/no"},
		{"effort", ``, agent.Options{Effort: opt(""), Mode: opt("")}, "agent_effort_unsupported [session/configuration] no/no"},
		{"mode", ``, agent.Options{Mode: opt(""), Permission: opt("")}, "agent_mode_unsupported [session/configuration] no/no"},
		{"permission", `"mcp_servers":[{}]`, agent.Options{Permission: opt("")}, "agent_permission_unsupported [session/configuration] no/no"},
		{"MCP", `"mcp_servers":[{"name":"m","command":"c"}]`, agent.Options{}, "agent_mcp_server_invalid [session/new] no/no"},
		{"MCP without headers", `"mcpServers":[{"type":"http","name":"m","url":"u"}]`, agent.Options{}, "agent_mcp_server_invalid [session/new] no/no"},
		{"MCP env", `"mcp_servers":[{"name":"m","command":"c","args":[],"env":{}}]`, agent.Options{}, "agent_mcp_server_invalid [session/new] no/no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := Driver{}.Parse(spec(t, tt.spec))
			if err != nil {
				t.Fatal(err)
			}
			wantError(t, plan.Check(tt.o, ""), tt.want)
		})
	}
}
