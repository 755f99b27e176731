package rpc

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// answering makes a handler that replies to the prompt with lines; in them
// %ID is the prompt's id.
func answering(lines ...string) handler {
	return func(w *wire, m got) bool {
		if m.Method == "prompt" {
			for _, l := range lines {
				w.say("%s", strings.ReplaceAll(l, "%ID", fmt.Sprint(m.ID)))
			}
		}
		return true
	}
}

const (
	accepted = `{"id":%ID,"result":{"turn":{"id":"t1"}}}`
	doneT1   = `{"method":"done","params":{"turn":{"id":"t1","status":"completed"}}}`
	rawDone  = `raw {"method":"done","params":{"turn":{"id":"t1","status":"completed"}}}` + "\n"
)

func delta(text string) string { return fmt.Sprintf(`{"method":"delta","params":{"delta":%q}}`, text) }

func TestTurn(t *testing.T) {
	noCompletion := obj{"completion": nil, "cancel": nil}
	tests := []struct {
		name   string
		spec   obj
		lines  []string
		stop   string
		text   string
		cut    bool
		input  int64 // of the usage; 0 for none
		events string
	}{
		{name: "a notification ends it", lines: []string{accepted, delta("a"), delta("b"), doneT1},
			stop: "completed", text: "ab", events: "message-chunk a\nmessage-chunk b\n" + rawDone},
		{name: "it ends before the reply", lines: []string{delta("early "), doneT1, accepted},
			stop: "completed", text: "early ", events: "message-chunk early \n" + rawDone},
		{name: "what comes behind the end isn't its text", lines: []string{delta("a"), doneT1, delta("b"), accepted},
			stop: "completed", text: "a", events: "message-chunk a\n" + rawDone + "message-chunk b\n"},
		{name: "another turn's end", lines: []string{accepted, strings.Replace(doneT1, "t1", "t9", 1), delta("a"), doneT1},
			stop: "completed", text: "a", events: strings.Replace(rawDone, "t1", "t9", 1) + "message-chunk a\n" + rawDone},
		{name: "numbers as turn ids", lines: []string{`{"id":%ID,"result":{"turn":{"id":7}}}`, `{"method":"done","params":{"turn":{"id":7}}}`},
			stop: agent.StopEndTurn, events: `raw {"method":"done","params":{"turn":{"id":7}}}` + "\n"},
		{name: "only with the status", spec: obj{"completion": obj{"method": "done", "statusPath": "s", "statusValue": "idle"}, "cancel": nil},
			lines: []string{`{"id":%ID,"result":null}`, `{"method":"done","params":{"s":"busy"}}`, `{"method":"done","params":{"s":"idle"}}`},
			stop:  "idle", events: `raw {"method":"done","params":{"s":"busy"}}` + "\n" + `raw {"method":"done","params":{"s":"idle"}}` + "\n"},
		{name: "the reply ends it", spec: noCompletion, lines: []string{delta("x"), `{"id":%ID,"result":{"stop_reason":"max_tokens", "usage": {"input":4}}}`},
			stop: "max_tokens", text: `{"stop_reason":"max_tokens","usage":{"input":4}}`, input: 4, events: "message-chunk x\n"},
		{name: "the reply's text", spec: obj{"completion": nil, "cancel": nil, "resultTextPath": "a.b"}, lines: []string{`{"id":"%ID","result":{"a":{"b":"T"}}}`},
			stop: agent.StopEndTurn, text: "T"},
		{name: "the reply's text has its own budget", spec: obj{"completion": nil, "cancel": nil, "resultTextPath": "a", "maxOutputBytes": 3},
			lines: []string{delta("abc"), `{"id":%ID,"result":{"a":"éé"}}`}, stop: agent.StopEndTurn, text: "é", cut: true,
			events: "message-chunk abc\ntruncated \n"},
		{name: "one budget for text and raw", spec: obj{"maxOutputBytes": 6},
			lines: []string{accepted, delta("you said"), `{"method":"u","params":{"usage":{"input":3}}}`, delta("x"), doneT1},
			stop:  "completed", text: "you sa", cut: true, input: 3, events: "message-chunk you sa\ntruncated \n"},
		{name: "the last usage counts", lines: []string{accepted, `{"method":"u","params":{"usage":{"input":3}}}`, `{"method":"u","params":{"message":{"usage":{"input":5}}}}`, doneT1},
			stop: "completed", input: 5, events: `raw {"method":"u","params":{"usage":{"input":3}}}` + "\n" + `raw {"method":"u","params":{"message":{"usage":{"input":5}}}}` + "\n" + rawDone},
		{name: "usage at its path", spec: obj{"usagePath": "x.y"}, lines: []string{accepted, `{"method":"u","params":{"x":{"y":{"input":8}}}}`, `{"method":"u","params":{"usage":{"input":3}}}`, doneT1},
			stop: "completed", input: 8, events: `raw {"method":"u","params":{"x":{"y":{"input":8}}}}` + "\n" + `raw {"method":"u","params":{"usage":{"input":3}}}` + "\n" + rawDone},
		{name: "a request of the agent's", lines: []string{accepted, `{"id":"q","method":"ask","params":{}}`, doneT1}, stop: "completed", events: rawDone},
		{name: "broken text is mended", lines: []string{accepted, `{"method":"delta","params":{"delta":"\ud800` + "\xff" + `","delta":"z` + "\xff" + `"}}`, doneT1},
			stop: "completed", text: "z\ufffd", events: "message-chunk z\ufffd\n" + rawDone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openSession(t, declared(tt.spec), answering(tt.lines...))
				defer s.close()
				out, err := s.prompt("hi")
				if err != nil {
					t.Fatal(err)
				}
				var input int64
				if out.Usage != nil {
					input = *out.Usage.Input
				}
				if out.StopReason != tt.stop || out.Text != tt.text || out.Truncated != tt.cut || input != tt.input || out.ExitCode != nil {
					t.Errorf("outcome %+v, input %d; want %q %q %v %d", out, input, tt.stop, tt.text, tt.cut, tt.input)
				}
				if got := s.told(1); got != tt.events {
					t.Errorf("events\n%swant\n%s", got, tt.events)
				}
			})
		})
	}
}

func TestText(t *testing.T) {
	tests := []struct{ path, params, text string }{
		{"", `{"text":"a","content":"b"}`, "a"},
		{"", `{"content":"b","delta":"c"}`, "b"},
		{"", `{"delta":"c"}`, "c"},
		{"", `{"text":5,"content":"b","item":{"text":"d"}}`, "d"},
		{"", `{"item":{"text":"d"}}`, "d"},
		{"", `"bare"`, "bare"},
		{"", `{"x":1}`, "-"},
		{"a.b", `{"a":{"b":"p"},"text":"x"}`, "p"},
		{"a.b", `{"text":"x"}`, "-"},
		{"a", `{"a":[{"type":"text","text":"1"},{"text":"2"},{"type":"image","text":"3"},4]}`, "12"},
		{"a", `{"a":[{"type":"image"}]}`, "-"},
		{"a", `{"a":{"text":"1"}}`, "-"},
	}
	for _, tt := range tests {
		change := obj{}
		if tt.path != "" {
			change["textPath"] = tt.path
		}
		text, ok := parse(t, declared(change)).textOf(message{method: "delta", params: []byte(tt.params)})
		if !ok {
			text = "-"
		}
		if text != tt.text {
			t.Errorf("text of %s at %q = %q, want %q", tt.params, tt.path, text, tt.text)
		}
	}
}

func TestTurnErrors(t *testing.T) {
	mark := obj{"failurePath": "m.stop", "failureValue": "error", "failureMessagePath": "m.text"}
	present := obj{"failurePath": "m.stop"}
	failed := func(text string) string {
		return `{"method":"end","params":{"m":{"stop":"error","text":"` + text + `"}}}`
	}
	tests := []struct {
		name        string
		spec        obj
		lines       []string
		code, stage string
		flags       agent.Flags
		detail      string
	}{
		{"an error reply", nil, []string{`{"id":%ID,"error":{"code":5,"message":"no way"}}`}, agent.CodeRemoteError, stageCall, agent.FlagsFinal, "no way"},
		{"an error that is null", nil, []string{`{"id":%ID,"result":{},"error":null}`}, agent.CodeRemoteError, stageCall, agent.FlagsFinal, ""},
		{"a quota", nil, []string{`{"id":%ID,"error":{"message":"usage limit reached"}}`}, agent.CodeQuotaExhausted, stageCall, agent.FlagsRetry, "usage limit"},
		{"a quota after output", nil, []string{delta("x"), `{"id":%ID,"error":"Usage Limit"}`}, agent.CodeQuotaExhausted, stageCall, agent.FlagsBroken, ""},
		{"a quota after output that was cut", obj{"maxOutputBytes": 0}, []string{delta("x"), `{"id":%ID,"error":"Usage Limit"}`}, agent.CodeQuotaExhausted, stageCall, agent.FlagsBroken, ""},
		{"no turn id", nil, []string{`{"id":%ID,"result":{"turn":{}}}`}, agent.CodeTurnIDMissing, stagePrompt, agent.FlagsBroken, ""},
		{"a mark", mark, []string{accepted, failed("boom"), doneT1}, agent.CodeTurnFailed, agent.StagePrompt, agent.FlagsRetry, "boom"},
		{"the last mark", mark, []string{accepted, failed("one"), failed("two"), doneT1}, agent.CodeTurnFailed, agent.StagePrompt, agent.FlagsRetry, "two"},
		{"a mark after text", mark, []string{accepted, delta("x"), failed("boom"), doneT1}, agent.CodeTurnFailed, agent.StagePrompt, agent.FlagsBroken, "boom"},
		{"a mark after tokens", mark, []string{accepted, `{"method":"u","params":{"usage":{"output":1}}}`, failed("boom"), doneT1}, agent.CodeTurnFailed, agent.StagePrompt, agent.FlagsBroken, ""},
		{"a mark after no tokens", mark, []string{accepted, `{"method":"u","params":{"usage":{"output":0}}}`, failed("boom"), doneT1}, agent.CodeTurnFailed, agent.StagePrompt, agent.FlagsRetry, ""},
		{"a mark that is a quota", mark, []string{accepted, failed("Overloaded"), doneT1}, agent.CodeQuotaExhausted, agent.StagePrompt, agent.FlagsRetry, ""},
		{"a mark by its presence", present, []string{accepted, failed("x"), doneT1}, agent.CodeTurnFailed, agent.StagePrompt, agent.FlagsRetry, "error"},
		{"a line that is no JSON", nil, []string{accepted, "plain log"}, agent.CodeTransportFailed, stageRead, agent.FlagsBroken, "invalid_frame"},
		{"a line that is no object", nil, []string{"[1]"}, agent.CodeTransportFailed, stageCall, agent.FlagsBroken, "invalid_frame"},
		{"a line that is too long", nil, []string{accepted, `{"x":"` + strings.Repeat("x", minFrameBytes) + `"}`}, agent.CodeTransportFailed, stageRead, agent.FlagsBroken, "oversized_frame"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				s := openSession(t, declared(tt.spec), func(w *wire, m got) bool {
					if m.Method == "prompt" {
						if n++; n > 1 {
							return answering(accepted, doneT1)(w, m)
						}
					}
					return answering(tt.lines...)(w, m)
				})
				defer s.close()
				_, err := s.prompt("hi")
				e := wantError(t, err, tt.code, tt.stage, tt.flags)
				if !strings.Contains(e.Detail, tt.detail) {
					t.Errorf("detail %q, want %q in it", e.Detail, tt.detail)
				}
				_, err = s.prompt("again")
				if tt.flags.Uncertain {
					wantError(t, err, agent.CodeRecoveryRequired, stagePrompt, agent.FlagsBroken)
				} else if err != nil {
					t.Errorf("the next turn: %v", err)
				}
			})
		})
	}
}

func TestAMarkWithoutCompletion(t *testing.T) {
	s := openSession(t, declared(obj{"completion": nil, "cancel": nil, "failurePath": "stop"}), answering(`{"method":"e","params":{"stop":1}}`, `{"id":%ID,"result":{}}`))
	defer s.close()
	if _, err := s.prompt("hi"); err != nil {
		t.Errorf("a mark counted without completion: %v", err)
	}
}

func TestPreTurn(t *testing.T) {
	var seen []string
	s := openSession(t, declared(obj{"preTurn": []any{
		obj{"method": "model", "params": obj{"p": "{modelProvider}", "m": "{modelId}"}},
		obj{"method": "empty", "params": obj{}}, obj{"method": "none"}, obj{"method": "effort", "params": obj{"e": "{effort}"}},
	}}), func(w *wire, m got) bool {
		seen = append(seen, m.Raw)
		if m.Method == "prompt" {
			return answering(accepted, doneT1)(w, m)
		}
		w.reply(m, "null")
		return true
	})
	defer s.close()
	if _, err := s.promptWith("hi", agent.Options{Model: ptr("p/m")}, make(chan struct{})); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"params":{"m":"m","p":"p"},"method":"model","id":3}`, `{"params":{},"method":"empty","id":4}`, `{"params":null,"method":"none","id":5}`,
		`{"params":{"input":[{"text":"hi"}],"model":"p/m","session":"S-1"},"method":"prompt","id":6}`,
	}
	if got := strings.Join(seen, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("calls\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	seen = nil
	if _, err := s.prompt("hi"); err != nil || strings.Contains(strings.Join(seen, ""), "p/m") || len(seen) != 3 {
		t.Errorf("the next turn's calls %q, error %v", seen, err)
	}
}

func TestConfigure(t *testing.T) {
	var prompts []string
	s := openSession(t, declared(nil), func(w *wire, m got) bool {
		prompts = append(prompts, m.Raw)
		return answering(accepted, doneT1)(w, m)
	})
	defer s.close()
	configure := s.conn.(lane.Configurer).Configure
	if err := configure(t.Context(), agent.Options{Model: ptr("new")}, nil); err != nil {
		t.Error(err)
	}
	wantError(t, configure(t.Context(), agent.Options{Permission: ptr("p")}, nil), agent.CodePermissionUnsupported, agent.StageConfiguration, agent.FlagsFinal)
	wantError(t, configure(t.Context(), agent.Options{}, map[string][]byte{"x": nil}), agent.CodeConfigurationUnavailable, agent.StageConfiguration, agent.FlagsFinal)
	if _, err := s.prompt("hi"); err != nil || !strings.Contains(prompts[0], `"model":"new"`) {
		t.Errorf("error %v, prompt %s", err, prompts)
	}
}

func TestPreTurnErrors(t *testing.T) {
	h := func(w *wire, m got) bool {
		switch m.Text() {
		case "quota":
			w.say(`{"id":%v,"error":{"message":"Model not found"}}`, m.ID)
		case "die":
			return false
		default:
			return answering(accepted, doneT1)(w, m)
		}
		return true
	}
	spec := declared(obj{"preTurn": []any{obj{"method": "model", "params": obj{"m": "{model}"}}}})
	s := openSession(t, spec, h)
	defer s.close()
	try := func(model *string) error {
		_, err := s.promptWith("hi", agent.Options{Model: model}, make(chan struct{}))
		return err
	}
	wantError(t, try(ptr("quota")), agent.CodeQuotaExhausted, stageCall, agent.FlagsRetry)
	if err := try(nil); err != nil {
		t.Errorf("after a certain error: %v", err)
	}
	wantError(t, try(ptr("die")), agent.CodeTransportFailed, stageCall, agent.FlagsBroken)
	// The prompt wasn't sent: the session isn't locked, it is just gone.
	wantError(t, try(nil), agent.CodeTransportFailed, stageCall, agent.FlagsBroken)
}

// Text is the model that a preTurn call of the tests carries.
func (m got) Text() string { text, _ := m.Params["m"].(string); return text }

func TestMethodUnset(t *testing.T) {
	s := openSession(t, declared(obj{"prompt": obj{"method": "", "params": obj{}}}), answering())
	defer s.close()
	_, err := s.prompt("hi")
	wantError(t, err, agent.CodeMethodUnset, stageCall, agent.FlagsFinal)
}

func TestBetweenTurns(t *testing.T) {
	s := openSession(t, declared(nil), answering(accepted, doneT1, delta("later"), `{"method":"x","params":[1]}`))
	if _, err := s.prompt("hi"); err != nil {
		t.Fatal(err)
	}
	if !s.Wait(t.Context(), func(s *lanetest.Sink) bool { return len(s.Events()) == 3 }) {
		t.Fatal("no events between the turns")
	}
	s.close()
	want := "(turn 1) " + rawDone + "message-chunk later\n" + `raw {"method":"x","params":[1]}` + "\n"
	if got := s.told(0); got != want {
		t.Errorf("events\n%swant\n%s", got, want)
	}
}
