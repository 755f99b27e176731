package acp

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/internal/fixture"
	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// fixtureAgent is the fixture in this process.
func fixtureAgent(c fixture.Config) lanetest.Program {
	return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		if err := fixture.Run(ctx, p.In, p.Out, c); err != nil {
			return lane.ExitStatus{Code: 1}
		}
		return lane.ExitStatus{}
	}
}

// Options against the fixture: the answers are those of a4aa 0.4.2.
func TestFixtureOptions(t *testing.T) {
	legacy := fixture.Config{Legacy: true}
	all := agent.Options{Model: opt("fixture-large"), Mode: opt("ask"), Effort: opt("high"), Permission: opt("open")}
	tests := []struct {
		name    string
		spec    string
		fixture fixture.Config
		resume  string
		o       agent.Options
		turn    agent.Options
		want    string // config-check, or an error of the open or the turn
	}{
		{"defaults", ``, fixture.Config{}, "", agent.Options{}, agent.Options{}, "fixture-small,mode=code,effort=low,perm=safe"},
		{"all", ``, fixture.Config{}, "", all, agent.Options{}, "fixture-large,mode=ask,effort=high,perm=open"},
		{"legacy", ``, legacy, "", agent.Options{Model: opt("fixture-large"), Mode: opt("ask")}, agent.Options{}, "fixture-large,mode=ask,effort=low,perm=safe"},
		{"a turn's", ``, fixture.Config{}, "", agent.Options{}, agent.Options{Model: opt("fixture-large"), Effort: opt("high")}, "fixture-large,mode=code,effort=high,perm=safe"},
		{"model not offered", ``, fixture.Config{}, "", agent.Options{Model: opt("nope")}, agent.Options{}, "agent_configuration_unavailable [session/configuration] no/no"},
		{"mode not offered", ``, legacy, "", agent.Options{Mode: opt("nope")}, agent.Options{}, "agent_configuration_unavailable [session/configuration] no/no"},
		{"a turn's effort not offered", ``, fixture.Config{}, "", agent.Options{}, agent.Options{Effort: opt("nope")}, "agent_configuration_unavailable [session/configuration] no/no"},
		{"a turn's model is blank", ``, fixture.Config{}, "", agent.Options{}, agent.Options{Model: opt("")}, "agent_configuration_unavailable [session/configuration] no/no"},
		{"nothing offered after a restore", ``, fixture.Config{RestoreUnknown: true}, "r", agent.Options{Mode: opt("ask")}, agent.Options{}, "agent_configuration_unavailable [session/configuration] no/no"},
		{"enforced permission", `"enforced_permission":"read-only"`, fixture.Config{NoPermissions: true}, "", agent.Options{Permission: opt("read-only")}, agent.Options{}, "fixture-small,mode=code,effort=low,perm=safe"},
		{"another permission than the enforced", `"enforced_permission":"read-only"`, fixture.Config{NoPermissions: true}, "", agent.Options{Permission: opt("open")}, agent.Options{}, "agent_configuration_unavailable [session/configuration] no/no"},
		{"the agent's selector goes before the enforced", `"enforced_permission":"read-only"`, fixture.Config{}, "", agent.Options{Permission: opt("read-only")}, agent.Options{}, "agent_configuration_unavailable [session/configuration] no/no"},
		{"empty model reply", ``, fixture.Config{Legacy: true, ModelReply: "empty"}, "", agent.Options{Model: opt("fixture-large")}, agent.Options{}, "fixture-large,mode=code,effort=low,perm=safe"},
		{"other model in the reply", ``, fixture.Config{Legacy: true, ModelReply: "mismatch"}, "", agent.Options{Model: opt("fixture-large")}, agent.Options{}, "agent_configuration_rejected [session/set_model] no/no"},
		{"malformed model reply", ``, fixture.Config{Legacy: true, ModelReply: "malformed"}, "", agent.Options{Model: opt("fixture-large")}, agent.Options{}, "agent_protocol_error [session/set_model] no/no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := try(t, how{spec: tt.spec, program: fixtureAgent(tt.fixture), launch: func(l *lane.Launch) {
					l.Options, l.Resume = tt.o, tt.resume
				}})
				if err == nil {
					defer s.close()
					err = s.conn.CheckTurn(tt.turn)
				}
				if err == nil {
					_, err = s.conn.Prompt(t.Context(), lane.Turn{Number: 1, Text: "config-check", Options: tt.turn})
				}
				if strings.Contains(tt.want, "[") {
					wantError(t, err, tt.want)
				} else if got := s.Text(1); err != nil || got != "echo: config:model="+tt.want {
					t.Errorf("%q, error %v, want %q", got, err, tt.want)
				}
			})
		})
	}
}

// The sessionState is what the agent gave, after the options were applied.
func TestState(t *testing.T) {
	const configless = `"modes":{"currentModeId":"m","availableModes":[{"id":"m"},{"id":"n"}]},"models":{"currentModelId":"a","availableModels":[{"id":"a"},{"modelId":"b"}]}`
	tests := []struct {
		name, reply string
		o           agent.Options
		want        string
	}{
		{"nothing", `{"sessionId":"s"}`, agent.Options{}, `{}`},
		{"null counts as absent", `{"sessionId":"s","modes":null,"_meta":{"x":1.0}}`, agent.Options{}, `{"_meta":{"x":1.0}}`},
		{"bytes are kept", `{"sessionId":"s","configOptions": [ {"id" : "x"} ]}`, agent.Options{}, `{"configOptions":[ {"id" : "x"} ]}`},
		{"mode and model", `{"sessionId":"s",` + configless + `}`, agent.Options{Mode: opt("n"), Model: opt("b")},
			`{` + strings.NewReplacer(`ModeId":"m"`, `ModeId":"n"`, `ModelId":"a"`, `ModelId":"b"`).Replace(configless) + `}`},
		{"already current: nothing is sent", `{"sessionId":"s",` + configless + `}`, agent.Options{Mode: opt("m"), Model: opt("a")}, `{` + configless + `}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, how{
					launch: func(l *lane.Launch) { l.Options = tt.o },
					handle: replies(map[string]string{"session/new": tt.reply, "session/set_mode": "null", "session/set_model": "null"}),
				})
				defer s.close()
				got := string(s.conn.Info().State)
				modes := strings.Index(got, `"models"`) > strings.Index(got, `"modes"`)
				if got != tt.want || !modes && strings.Contains(got, "models") {
					t.Errorf("state %s, want %s", got, tt.want)
				}
				if tt.name == "already current: nothing is sent" && len(s.sent.with("set_")) > 0 {
					t.Errorf("sent %v", s.sent.with("set_"))
				}
			})
		})
	}
}

// A grouped select, ids with odd characters, an option whose reply doesn't
// show it, an effort that only another model offers.
func TestSelectors(t *testing.T) {
	grouped := `{"id":"m","category":"model","type":"select","currentValue":"a","options":[{"group":"g","name":"G","options":[{"value":"a"},{"value":"b"}]}]}`
	toggle := `{"id":"thought_level","type":"boolean","currentValue":true}`
	effort := func(values string) string {
		return `{"id":"thought_level","type":"select","currentValue":"low","options":[{"value":"low"}` + values + `]}`
	}
	tests := []struct {
		name    string
		reply   string // members of session/new's reply
		set     string // the reply to set_config_option
		o       agent.Options
		want    string // an error, or ""
		message string // that must be sent
	}{
		{"grouped", `"configOptions":[` + grouped + `]`, `{"configOptions":[` + strings.Replace(grouped, `Value":"a"`, `Value":"b"`, 1) + `]}`,
			agent.Options{Model: opt("b")}, "", `"configId":"m","value":"b"`},
		{"the reply doesn't show it", `"configOptions":[` + grouped + `]`, `{"configOptions":[` + grouped + `]}`,
			agent.Options{Model: opt("b")}, "agent_configuration_rejected [session/set_config_option] no/no", ""},
		{"an empty reply", `"configOptions":[` + grouped + `]`, `{}`,
			agent.Options{Model: opt("b")}, "agent_configuration_rejected [session/set_config_option] no/no", ""},
		{"the option is refused", `"configOptions":[` + grouped + `]`, `!{"code":-32602,"message":"no"}`,
			agent.Options{Model: opt("b")}, "agent_protocol_failed [session/set_config_option] yes/yes", ""},
		{"a toggle doesn't count", `"configOptions":[` + toggle + `]`, ``,
			agent.Options{Effort: opt("true")}, "agent_configuration_unavailable [session/configuration] no/no", ""},
		{"a clean id", `"models":{"currentModelId":"a","availableModels":[{"modelId":"p/big (new) [high]"}]}`, ``,
			agent.Options{Model: opt("pbignew[high]")}, "", `"modelId":"p/big (new) [high]"`},
		{"an effort of another model", `"configOptions":[` + grouped + `,` + effort("") + `]`,
			`{"configOptions":[` + strings.Replace(grouped, `Value":"a"`, `Value":"b"`, 1) + `,` + effort(`,{"value":"low"}`) + `]}`,
			agent.Options{Model: opt("b"), Effort: opt("max")}, "agent_configuration_unavailable [session/configuration] no/no", `"value":"b"`},
		{"refused before anything is changed", `"configOptions":[` + grouped + `]`, ``,
			agent.Options{Model: opt("b"), Mode: opt("x")}, "agent_configuration_unavailable [session/configuration] no/no", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := try(t, how{
					launch: func(l *lane.Launch) { l.Options = tt.o },
					handle: replies(map[string]string{
						"session/new": `{"sessionId":"s",` + tt.reply + `}`, "session/set_model": "{}", "session/set_config_option": tt.set,
					}),
				})
				if err == nil {
					defer s.close()
				}
				if tt.want != "" {
					wantError(t, err, tt.want)
				} else if err != nil {
					t.Error(err)
				}
				sent := s.sent.with("set_")
				if tt.message != "" && (len(sent) == 0 || !strings.Contains(sent[0], tt.message)) {
					t.Errorf("sent %v, want %s", sent, tt.message)
				}
				if tt.set == "" && tt.message == "" && len(sent) > 0 {
					t.Errorf("sent %v, want nothing", sent)
				}
			})
		})
	}
}

// Options of an open session, by word and by the agent's ids.
func TestConfigure(t *testing.T) {
	options := `[{"id":"sel","type":"select","currentValue":"a","options":[{"value":"a"},{"value":"b"}]},{"id":"tog","type":"boolean","currentValue":false}]`
	tests := []struct {
		name   string
		config map[string][]byte
		want   string
		sent   []string
	}{
		{"select and toggle", map[string][]byte{"sel": []byte(`"b"`), "tog": []byte(`true`)}, "",
			[]string{`"configId":"sel","value":"b"`, `"configId":"tog","type":"boolean","value":true`}},
		{"current", map[string][]byte{"sel": []byte(`"a"`), "tog": []byte(`false`)}, "", nil},
		{"unknown", map[string][]byte{"sel": []byte(`"b"`), "zzz": []byte(`"b"`)}, "agent_configuration_unavailable [session/configuration] no/no", nil},
		{"wrong value", map[string][]byte{"tog": []byte(`"yes"`)}, "agent_configuration_unavailable [session/configuration] no/no", nil},
		{"not offered", map[string][]byte{"sel": []byte(`"c"`)}, "agent_configuration_unavailable [session/configuration] no/no", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := options
				s := open(t, how{handle: func(f *fake, m rpcMessage) bool {
					switch m.Method {
					case "session/new":
						f.result(m.ID, `{"sessionId":"s","configOptions":`+now+`}`)
					case "session/set_config_option":
						now = strings.NewReplacer(`"a","options"`, `"b","options"`).Replace(now)
						if strings.Contains(string(m.Params), "tog") {
							now = strings.Replace(now, `:false`, `:true`, 1)
						}
						f.result(m.ID, `{"configOptions":`+now+`}`)
					default:
						return false
					}
					return true
				}})
				defer s.close()
				err := s.conn.(lane.Configurer).Configure(t.Context(), agent.Options{}, tt.config)
				if tt.want != "" {
					wantError(t, err, tt.want)
				} else if err != nil {
					t.Error(err)
				}
				sent := s.sent.with("set_config_option")
				if len(sent) != len(tt.sent) {
					t.Fatalf("sent %v, want %v", sent, tt.sent)
				}
				for i := range sent {
					if !strings.Contains(sent[i], tt.sent[i]) {
						t.Errorf("sent %s, want %s", sent[i], tt.sent[i])
					}
				}
			})
		})
	}
}

func TestFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{handle: replies(map[string]string{
			"initialize":   `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{}}}}`,
			"session/fork": `{"sessionId":"copy"}`,
		})})
		defer s.close()
		id, err := s.conn.(lane.Forker).Fork(t.Context())
		if err != nil || id != "copy" || !s.conn.Info().Capabilities.Fork {
			t.Errorf("Fork = %q, %v", id, err)
		}
		if len(s.sent.with(`"session/fork","params":{"sessionId":"`+fakeSession+`","cwd":"/work dir"`)) != 1 {
			t.Errorf("sent %v", s.sent.with("fork"))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{})
		defer s.close()
		_, err := s.conn.(lane.Forker).Fork(t.Context())
		wantError(t, err, "agent_session_resume_unsupported [session/fork] no/no")
	})
}
