package serve

import (
	"strings"
	"testing"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

func TestTurn(t *testing.T) {
	f := newServer(t)
	s := openSession(t, f, nil, func(l *lane.Launch) { l.Options = agent.Options{Model: ptr("p/m/x")} })
	out, err := s.prompt("hi")
	if err != nil || out.StopReason != agent.StopEndTurn || out.Text != "echo: hi" || out.ExitCode != nil || out.Truncated {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	u := out.Usage
	if u == nil || *u.Input != 9 || *u.Output != 4 || *u.Thought != 1 || *u.CachedInput != 2 || *u.CachedWrite != 3 || u.Total != nil {
		t.Errorf("usage %+v", u)
	}
	events := s.Events()
	if len(events) != 2 || events[0].Kind != agent.KindMessage || events[0].Text != "echo: hi" || events[0].Turn != 1 ||
		events[1].Kind != agent.KindUsage || events[1].Usage.Usage != u {
		t.Errorf("events %+v", events)
	}
	if out, err := s.promptWith("again", agent.Options{Model: ptr("solo")}, make(chan struct{})); err != nil || out.Text != "echo: again" {
		t.Errorf("the second turn: %+v, %v", out, err)
	}
	want := strings.Join([]string{
		"POST /api/session {}", `POST /api/session/ses/1/model {"model":{"id":"m/x","providerID":"p"}}`,
		`POST /api/session/ses/1/prompt {"text":"hi"}`, "GET /api/session/ses/1/message",
		`POST /api/session/ses/1/model {"model":{"id":"solo","providerID":"opencode"}}`,
		`POST /api/session/ses/1/prompt {"text":"again"}`, "GET /api/session/ses/1/message",
	}, "\n")
	if got := f.seen(); got != want {
		t.Errorf("requests\n%s\nwant\n%s", got, want)
	}
	info := s.conn.Info()
	if info.NativeID != "ses/1" || info.Capabilities.Streaming || !info.Capabilities.Cancellation || info.Capabilities.SessionResume || info.State != nil {
		t.Errorf("info %+v", info)
	}
}

func TestConfigure(t *testing.T) {
	f := newServer(t)
	s := openSession(t, f, nil, nil)
	configure := s.conn.(lane.Configurer).Configure
	if err := configure(t.Context(), agent.Options{Model: ptr("p/new")}, nil); err != nil || !strings.Contains(f.seen(), `{"model":{"id":"new","providerID":"p"}}`) {
		t.Errorf("error %v, requests %s", err, f.seen())
	}
	if err := configure(t.Context(), agent.Options{}, nil); err != nil {
		t.Error(err)
	}
	wantError(t, configure(t.Context(), agent.Options{Permission: ptr(readOnly)}, nil), agent.CodePermissionUnsupported, agent.StageConfiguration, agent.FlagsFinal)
	wantError(t, configure(t.Context(), agent.Options{}, map[string][]byte{"x": nil}), agent.CodeConfigurationUnavailable, agent.StageConfiguration, agent.FlagsFinal)
}

func TestSteps(t *testing.T) {
	f := newServer(t)
	f.onPrompt = func(string) []obj { return []obj{says("one "), says("two"), idle("succeeded")} }
	s := openSession(t, f, obj{"maxOutputBytes": 5}, nil)
	out, err := s.prompt("hi")
	if err != nil || out.Text != "one t" || !out.Truncated || *out.Usage.Input != 18 {
		t.Errorf("outcome %+v, %v", out, err)
	}
	if got := s.Text(1); got != "one two" {
		t.Errorf("the chunk is %q, want it whole", got)
	}
	if n := len(s.Events()); n != 2 {
		t.Errorf("%d events, want a chunk and a usage", n)
	}
}

func TestNothingSaid(t *testing.T) {
	f := newServer(t)
	f.onPrompt = func(string) []obj { return []obj{idle("succeeded")} }
	s := openSession(t, f, nil, nil)
	if out, err := s.prompt("hi"); err != nil || out.Text != "" || out.Usage != nil || len(s.Events()) != 0 {
		t.Errorf("outcome %+v, %v, events %+v", out, err, s.Events())
	}
}

// TestOldRecords: what an earlier turn left isn't this one's, also where the
// server's clock doesn't tell them apart.
func TestOldRecords(t *testing.T) {
	f := newServer(t)
	future := func(r obj) obj { r["time"] = obj{"created": 1 << 40}; return r }
	f.onPrompt = func(string) []obj { return []obj{future(says("old")), future(idle("succeeded"))} }
	s := openSession(t, f, nil, nil)
	if _, err := s.prompt("one"); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.onPrompt = func(string) []obj { return []obj{says("new"), idle("succeeded")} }
	f.mu.Unlock()
	if out, err := s.prompt("two"); err != nil || out.Text != "new" {
		t.Errorf("outcome %+v, %v, want the new text", out, err)
	}
}

func TestFailures(t *testing.T) {
	prompt := agent.StagePrompt
	tests := []struct {
		name        string
		records     []obj
		code, stage string
		flags       agent.Flags
		detail      string
	}{
		{"failed", []obj{failedWith("provider.auth", "key expired")}, agent.CodeProtocolFailed, prompt, agent.FlagsFinal, "key expired"},
		{"failed without a word", []obj{idle("failed")}, agent.CodeProtocolFailed, prompt, agent.FlagsFinal, "failed"},
		{"a quota by its type", []obj{failedWith("provider.quota", "pay")}, agent.CodeQuotaExhausted, prompt, agent.FlagsRetry, "pay"},
		{"a quota by its text", []obj{failedWith("x", "Rate Limit")}, agent.CodeQuotaExhausted, prompt, agent.FlagsRetry, ""},
		{"a quota after output", []obj{says("x"), failedWith("provider.quota", "pay")}, agent.CodeQuotaExhausted, prompt, agent.FlagsBroken, ""},
		{"a quota after tokens", []obj{{"type": "assistant", "tokens": obj{"input": 1}}, failedWith("provider.quota", "pay")}, agent.CodeQuotaExhausted, prompt, agent.FlagsBroken, ""},
		{"a quota after nothing", []obj{{"type": "assistant", "tokens": obj{"input": 0}}, failedWith("provider.quota", "pay")}, agent.CodeQuotaExhausted, prompt, agent.FlagsRetry, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newServer(t)
			f.onPrompt = func(string) []obj { return tt.records }
			_, err := openSession(t, f, nil, nil).prompt("hi")
			if e := wantError(t, err, tt.code, tt.stage, tt.flags); !strings.Contains(e.Detail, tt.detail) {
				t.Errorf("detail %q", e.Detail)
			}
		})
	}
}

func TestHTTPFailures(t *testing.T) {
	tests := []struct {
		at     string
		status int
		body   string
		code   string
		stage  string
		flags  agent.Flags
	}{
		{"prompt", 500, "boom " + secret, agent.CodeProtocolFailed, stageTransport, agent.FlagsFinal},
		{"prompt", 429, "x", agent.CodeQuotaExhausted, stageTransport, agent.FlagsRetry},
		{"prompt", 302, "x", agent.CodeProtocolFailed, stageTransport, agent.FlagsFinal},
		{"message", 500, "x", agent.CodeProtocolFailed, stageTransport, agent.FlagsFinal},
		{"message", 500, "overloaded", agent.CodeQuotaExhausted, stageTransport, agent.FlagsBroken},
		{"model", 404, "x", agent.CodeProtocolFailed, stageSetModel, agent.FlagsFinal},
		{"model", 404, "Model not found", agent.CodeQuotaExhausted, stageSetModel, agent.FlagsRetry},
	}
	for _, tt := range tests {
		f := newServer(t)
		f.answers[tt.at], f.bodies[tt.at] = tt.status, tt.body
		s := openSession(t, f, nil, nil)
		_, err := s.promptWith("hi", agent.Options{Model: ptr("m")}, make(chan struct{}))
		wantError(t, err, tt.code, tt.stage, tt.flags)
	}
}

func TestConnectionBreaks(t *testing.T) {
	f := newServer(t)
	f.onPrompt = func(string) []obj { go f.CloseClientConnections(); go f.Listener.Close(); return nil }
	_, err := openSession(t, f, nil, nil).prompt("hi")
	wantError(t, err, agent.CodeProtocolFailed, stageTransport, agent.FlagsBroken)
}

func TestCancel(t *testing.T) {
	tests := []struct {
		name    string
		records []obj
		code    string
	}{
		{"interrupted", []obj{idle("interrupted")}, agent.CodeSessionCancelled},
		{"failed meanwhile", []obj{failedWith("provider.quota", "pay")}, agent.CodeSessionCancelled},
		{"done meanwhile", []obj{says("all"), idle("succeeded")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newServer(t)
			f.onPrompt = func(string) []obj { return nil }
			f.onInterrupt = func() []obj { return tt.records }
			s := openSession(t, f, nil, nil)
			cancel := make(chan struct{})
			go func() {
				f.polled(t)
				close(cancel)
			}()
			out, err := s.promptWith("hi", agent.Options{}, cancel)
			if tt.code != "" {
				wantError(t, err, tt.code, agent.StagePrompt, agent.FlagsFinal)
			} else if err != nil || out.StopReason != agent.StopEndTurn || out.Text != "all" {
				t.Errorf("outcome %+v, %v", out, err)
			}
			if n := strings.Count(f.seen(), "/interrupt"); n != 1 {
				t.Errorf("%d interrupts", n)
			}
		})
	}
	t.Run("before the prompt", func(t *testing.T) {
		f := newServer(t)
		cancel := make(chan struct{})
		close(cancel)
		out, err := openSession(t, f, nil, nil).promptWith("hi", agent.Options{}, cancel)
		if err != nil || out.StopReason != agent.StopCancelled || strings.Contains(f.seen(), "prompt") {
			t.Errorf("outcome %+v, %v, requests %s", out, err, f.seen())
		}
	})
}

func TestClose(t *testing.T) {
	f := newServer(t)
	f.onPrompt = func(string) []obj { return nil }
	s := openSession(t, f, nil, nil)
	done := make(chan error, 1)
	go func() {
		_, err := s.prompt("hi")
		done <- err
	}()
	f.polled(t)
	s.close()
	wantError(t, <-done, agent.CodeSessionClosed, agent.StagePrompt, agent.FlagsUncertain)
	_, err := s.prompt("again")
	wantError(t, err, agent.CodeSessionClosed, agent.StagePrompt, agent.FlagsFinal)
}
