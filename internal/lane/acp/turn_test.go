package acp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"
)

// says makes a handler whose prompts send lines and then answer.
func says(answer string, updates ...string) func(*fake, rpcMessage) bool {
	return on("session/prompt", func(f *fake, m rpcMessage) {
		for _, u := range updates {
			f.update(u)
		}
		if failure, ok := strings.CutPrefix(answer, "!"); ok {
			f.fail(m.ID, failure)
			return
		}
		f.result(m.ID, answer)
	})
}

// How the answer to a prompt settles the turn.
func TestOutcomes(t *testing.T) {
	chunk := `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`
	commands := `{"sessionUpdate":"available_commands_update","availableCommands":[]}`
	tests := []struct {
		name    string
		answer  string
		updates []string
		want    string // stop reason, or error
	}{
		{"end_turn", `{"stopReason":"end_turn"}`, nil, "end_turn"},
		{"max_tokens", `{"stopReason":"max_tokens"}`, nil, "max_tokens"},
		{"a new word", `{"stopReason":"brand_new"}`, nil, "brand_new"},
		{"no stop reason", `{}`, nil, "agent_protocol_failed [session/prompt] yes/yes"},
		{"null", `null`, nil, "agent_protocol_failed [session/prompt] yes/yes"},
		{"error", `!{"code":-32603,"message":"boom"}`, nil, "agent_protocol_failed [session/prompt] yes/yes"},
		{"auth", `!{"code":-32000,"message":"log in"}`, nil, "agent_auth_required [session/prompt] yes/no"},
		{"certain quota", `!{"code":-32603,"message":"usage limit"}`, []string{commands}, "agent_quota_exhausted [session/prompt] yes/no"},
		{"uncertain quota", `!{"code":-32603,"message":"usage limit"}`, []string{chunk}, "agent_quota_exhausted [session/prompt] yes/yes"},
		{"quota before auth", `!{"code":-32000,"message":"no","data":"rate limit"}`, nil, "agent_quota_exhausted [session/prompt] yes/no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, how{handle: says(tt.answer, tt.updates...)})
				defer s.close()
				out, err := s.prompt(1, "x")
				if strings.Contains(tt.want, "[") {
					wantError(t, err, tt.want)
				} else if err != nil || out.StopReason != tt.want {
					t.Errorf("outcome %+v, error %v, want %s", out, err, tt.want)
				}
			})
		})
	}
}

func TestUsageOfTheReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{handle: says(`{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3,"cachedReadTokens":4,"thoughtTokens":5}}`)})
		defer s.close()
		out, err := s.prompt(1, "x")
		if err != nil {
			t.Fatal(err)
		}
		got := string(agent.AppendUsage(nil, out.Usage))
		want := `{"input":1,"cachedInput":4,"cachedWrite":null,"output":2,"thought":5,"total":3}`
		if got != want {
			t.Errorf("usage %s, want %s", got, want)
		}
		if !s.conn.Info().Capabilities.Usage {
			t.Error("the capability usage isn't shown after usage was reported")
		}
	})
}

// A budget cuts text at a character, counts other events whole, and lets
// nothing through once something didn't fit.
func TestBudget(t *testing.T) {
	text := func(s string) string {
		return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + s + `"}}`
	}
	const tool = `{"sessionUpdate":"tool_call","toolCallId":"c","title":"T"}`
	toolSize := len(`{"kind":"tool-call","summary":"T","raw":{"toolCallId":"c","title":"T"}}`)
	const thought = `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`
	tests := []struct {
		name    string
		limit   int
		updates []string
		want    string
	}{
		{"fits exactly", 4, []string{text("ab"), text("cd")}, "ab cd"},
		{"cut at a character", 4, []string{text("abé"), text("é"), text("z")}, "abé truncated"},
		{"cut inside", 4, []string{text("aééz")}, "aé truncated"},
		{"nothing of it fits", 1, []string{text("éa"), text("a")}, "truncated"},
		{"a whole event", toolSize + 1, []string{tool, text("a"), text("b")}, "tool-call a truncated"},
		{"an event too large", toolSize - 1, []string{tool, text("a")}, "truncated"},
		{"a raw event", len(thought) + 21, []string{thought, text("a")}, "thought-chunk truncated"},
		{"zero", 0, []string{text("a")}, "truncated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, how{spec: fmt.Sprintf(`"maxOutputBytes":%d`, tt.limit), handle: says(`{"stopReason":"end_turn"}`, tt.updates...)})
				defer s.close()
				for number := uint64(1); number <= 2; number++ { // a budget is a turn's
					out, err := s.prompt(number, "x")
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, ev := range s.Events() {
						switch {
						case ev.Turn != number:
						case ev.Kind == agent.KindMessage:
							got = append(got, ev.Text)
						default:
							got = append(got, string(ev.Kind))
						}
					}
					if list := strings.Join(got, " "); list != tt.want {
						t.Errorf("turn %d: events %q, want %q", number, list, tt.want)
					}
					if want := strings.Contains(tt.want, "truncated"); out.Truncated != want {
						t.Errorf("truncated %v, want %v", out.Truncated, want)
					}
				}
			})
		})
	}
}

// The cancel goes out before the answers to the questions that it ends.
func TestCancelOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{})
		defer s.close()
		cancel := make(chan struct{})
		go func() {
			s.Wait(t.Context(), func(s *lanetest.Sink) bool { return s.Open() == 1 })
			close(cancel)
		}()
		if _, err := s.conn.Prompt(t.Context(), lane.Turn{Number: 1, Text: lanetest.Ask, Cancel: cancel}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the agent has read what was sent
		lines := s.sent.all()
		at := func(part string) int {
			return slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, part) })
		}
		told, answered := at(`"session/cancel"`), at(`"outcome":"cancelled"`)
		if told < 0 || answered < told {
			t.Errorf("cancel is line %d, the answer %d:\n%s", told, answered, strings.Join(lines, "\n"))
		}
	})
}

// A turn that a close ends is closed, also where the agent still answers the
// cancel that goes with it.
func TestCloseIsNoCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{handle: func(f *fake, m rpcMessage) bool {
			if m.Method == "session/cancel" {
				f.stop("cancelled")
				return true
			}
			return false
		}})
		s.AnswerWith(func(ctx context.Context, _ *agent.Question) agent.Answer {
			<-ctx.Done()
			time.Sleep(partingWait / 2) // a host that is slow to let go
			return agent.Answer{}
		})
		done := make(chan error)
		go func() {
			_, err := s.prompt(1, lanetest.Ask)
			done <- err
		}()
		synctest.Wait()
		go s.close()
		wantError(t, <-done, "agent_session_closed [session/prompt] no/yes")
		s.close()
	})
}

// An answer that comes late lets the next prompt go on; what the old turn
// still says is fenced.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var old rpcMessage
		s := open(t, how{handle: func(f *fake, m rpcMessage) bool {
			switch {
			case m.Method == "session/prompt" && old.ID == nil:
				old = m
				f.chunk("early ")
			case m.Method == "session/cancel":
				go func() {
					time.Sleep(cancelWait + 3*time.Second)
					f.chunk("late ")
					f.update(`{"sessionUpdate":"current_mode_update","currentModeId":"m"}`)
					f.result(old.ID, `{"stopReason":"end_turn"}`)
				}()
			default:
				return false
			}
			return true
		}})
		defer s.close()
		cancel := make(chan struct{})
		close(cancel)
		first := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(first) })
		out, err := s.conn.Prompt(t.Context(), lane.Turn{Number: 1, Text: "x", Cancel: first})
		if err != nil || out.StopReason != agent.StopCancelled || out.Suspect != agent.SuspectCancelUnanswered {
			t.Fatalf("outcome %+v, error %v", out, err)
		}
		if got := s.said(2, "next"); got != "echo: next" {
			t.Errorf("the next turn says %q", got)
		}
		if got := s.Text(0) + s.Text(1); got != "early " {
			t.Errorf("the old turn says %q", got)
		}
		if kinds := s.kinds(0); !slices.Equal(kinds, []agent.EventKind{agent.KindMode}) {
			t.Errorf("events outside: %v, want the mode", kinds)
		}
	})
}

// A host that doesn't read keeps the agent's answer waiting; that isn't an
// agent that doesn't answer.
func TestCancelWithAHostThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{})
		defer s.close()
		hold, cancel := make(chan struct{}), make(chan struct{})
		s.HoldUntil(hold)
		time.AfterFunc(time.Second, func() { close(cancel) })
		time.AfterFunc(3*cancelWait-time.Second, func() { close(hold) })
		out, err := s.conn.Prompt(t.Context(), lane.Turn{Number: 1, Text: lanetest.Hang, Cancel: cancel})
		if err != nil || out.StopReason != agent.StopCancelled || out.Suspect != "" {
			t.Errorf("outcome %+v, error %v", out, err)
		}
	})
}

// An agent that has much to say at its end is heard out, so that it ends by
// itself.
func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{program: func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
			status := runFake(ctx, &fake{Stdio: p})
			for range 1000 {
				fmt.Fprintln(p.Out, strings.Repeat("parting ", 100))
			}
			return status
		}})
		begin := time.Now()
		s.close()
		if took := time.Since(begin); took > 0 {
			t.Errorf("the close took %v", took)
		}
		if status := s.starter.Started()[0].Status(); status != (lane.ExitStatus{}) {
			t.Errorf("the agent ended with %v", status)
		}
	})
}

// A cancel while options are set ends the turn without its prompt.
func TestCancelInSetup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{handle: func(f *fake, m rpcMessage) bool {
			if m.Method == "session/new" {
				f.result(m.ID, `{"sessionId":"s","models":{"currentModelId":"a","availableModels":[{"id":"a"},{"id":"b"}]}}`)
				return true
			}
			return m.Method == "session/set_model" // never answered
		}})
		defer s.close()
		cancel := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(cancel) })
		out, err := s.conn.Prompt(t.Context(), lane.Turn{Number: 1, Text: "x", Options: agent.Options{Model: opt("b")}, Cancel: cancel})
		if err != nil || out.StopReason != agent.StopCancelled {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		if sent := s.sent.with(`"session/prompt"`); len(sent) != 0 {
			t.Errorf("the prompt was sent: %v", sent)
		}
	})
}

// Between turns, updates go out at once and belong to no turn.
func TestBetweenTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{handle: on("session/prompt", func(f *fake, m rpcMessage) {
			f.chunk("in")
			f.result(m.ID, `{"stopReason":"end_turn"}`)
			f.chunk("out")
		})})
		defer s.close()
		if got := s.said(1, "x"); got != "in" {
			t.Errorf("turn 1 says %q", got)
		}
		synctest.Wait()
		if got := s.Text(0); got != "out" {
			t.Errorf("outside says %q", got)
		}
	})
}

// After the death of the agent every prompt fails, and Info says so.
func TestDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{})
		defer s.close()
		if s.conn.Info().Dead {
			t.Error("dead before the end")
		}
		for number := uint64(1); number <= 3; number++ {
			_, err := s.prompt(number, lanetest.Crash)
			wantError(t, err, "agent_protocol_failed [session/prompt] yes/yes")
		}
		if !s.conn.Info().Dead {
			t.Error("not dead after the end")
		}
	})
}

// Requests and notifications that we don't know, junk, broken lines.
func TestOddTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, how{handle: on("session/prompt", func(f *fake, m rpcMessage) {
			f.write("plain log line")
			f.write(`{"level":"info"}`)
			f.write(`[1,2]`)
			f.write(`{"jsonrpc":"2.0","id":4242,"result":{}}`)
			f.write(`{"jsonrpc":"2.0","method":"_vendor/hello","params":{}}`)
			f.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","message":{"usage":{}}}}`)
			f.write(`{"jsonrpc":"2.0","method":"session/update","params":{"update":[1]}}`)
			f.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""}}`)
			f.chunk("bad \xff byte")
			f.chunk(`lone \ud800 surrogate`)
			f.request("fs/read_text_file", `{"path":"/etc/hostname"}`, func(answer rpcMessage) {
				f.chunk(strings.ReplaceAll(string(answer.Error), `"`, ``))
				f.result(m.ID, `{"stopReason":"end_turn"}`)
			})
		})})
		defer s.close()
		got := s.said(1, "x")
		if want := "bad \uFFFD bytelone \uFFFD surrogate{code:-32601,message:method not found,data:null}"; got != want {
			t.Errorf("text %q, want %q", got, want)
		}
		notices := 0
		for _, ev := range s.Events() {
			switch ev.Kind {
			case agent.KindNotice:
				notices++
			case agent.KindMessage:
			default:
				t.Errorf("an event of kind %s: %s", ev.Kind, ev.Raw)
			}
		}
		if notices != 1 {
			t.Errorf("%d notices, want 1 a session", notices)
		}
	})
}

// The prompt's blocks follow what the agent takes.
func TestAttachments(t *testing.T) {
	image := lane.Attachment{Type: "image", URI: "file:///i", MimeType: "image/png", Data: []byte("i")}
	text := lane.Attachment{Type: "file", URI: "file:///f", Name: "f", Text: "t"}
	rich := `{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true,"embeddedContext":true}}}`
	poor := `{"protocolVersion":1}`
	tests := []struct {
		name, init string
		attachment lane.Attachment
		want       string
	}{
		{"image", rich, image, `{"type":"image","data":"aQ==","mimeType":"image/png","uri":"file:///i"}`},
		{"image as a link", poor, image, `{"type":"resource_link","mimeType":"image/png","name":"file:///i","uri":"file:///i"}`},
		{"file", rich, text, `{"type":"resource","resource":{"uri":"file:///f","text":"t"}}`},
		{"binary", rich, lane.Attachment{Type: "file", URI: "u", Data: []byte{0}}, `{"type":"resource","resource":{"uri":"u","blob":"AA=="}}`},
		{"file as a link", poor, text, `{"type":"resource_link","name":"f","uri":"file:///f"}`},
		{"no address", poor, lane.Attachment{Type: "image", Data: []byte("i")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, how{handle: replies(map[string]string{"initialize": tt.init})})
				defer s.close()
				_, err := s.conn.Prompt(context.Background(), lane.Turn{Number: 1, Text: "hi", Attachments: []lane.Attachment{tt.attachment}})
				if tt.want == "" {
					wantError(t, err, "agent_configuration_unavailable [session/prompt] no/no")
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if want := `"prompt":[{"type":"text","text":"hi"},` + tt.want + `]`; len(s.sent.with(want)) != 1 {
					t.Errorf("sent %v, want %s", s.sent.with("session/prompt"), want)
				}
			})
		})
	}
}
