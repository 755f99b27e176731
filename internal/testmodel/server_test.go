package testmodel

import (
	"bufio"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func post(t *testing.T, s *Server, path string, body any) (int, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	resp, err := client.Post(s.URL()+path, "application/json", strings.NewReader(encode(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, string(b) + "!" // a connection that was cut
	}
	return resp.StatusCode, string(b)
}

// dialect says how a test asks in one API and finds the answer's text.
type dialect struct {
	path  string
	ask   func(prompt string, stream bool, results ...string) object
	texts []string // paths of a delta's text, dotted
}

var bash = object{"type": "object", "required": []any{"command"}, "properties": object{"command": object{"type": "string"}}}

var dialects = map[string]dialect{
	"chat": {"/v1/chat/completions", func(p string, stream bool, results ...string) object {
		messages := []any{object{"role": "user", "content": p}}
		for _, r := range results {
			messages = append(messages, object{"role": "tool", "content": r})
		}
		return object{"stream": stream, "messages": messages,
			"tools": []any{object{"type": "function", "function": object{"name": "bash", "parameters": bash}}}}
	}, []string{"choices.0.delta.content", "choices.0.message.content"}},
	"responses": {"/v1/responses", func(p string, stream bool, results ...string) object {
		input := []any{object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": p}}}}
		for _, r := range results {
			input = append(input, object{"type": "function_call_output", "output": r})
		}
		return object{"stream": stream, "input": input,
			"tools": []any{object{"type": "function", "name": "shell", "parameters": bash}}}
	}, []string{"delta", "output.0.content.0.text"}},
	"anthropic": {"/v1/messages", func(p string, stream bool, results ...string) object {
		content := []any{object{"type": "text", "text": p}}
		for _, r := range results {
			content = append(content, object{"type": "tool_result", "content": r})
		}
		return object{"stream": stream, "messages": []any{object{"role": "user", "content": content}},
			"tools": []any{object{"name": "Bash", "input_schema": bash}}}
	}, []string{"delta.text", "content.0.text"}},
	"gemini": {"/v1beta/models/gemini-x:generateContent", func(p string, stream bool, results ...string) object {
		parts := []any{object{"text": p}}
		for _, r := range results {
			parts = append(parts, object{"functionResponse": object{"response": object{"output": r}}})
		}
		return object{"contents": []any{object{"role": "user", "parts": parts}},
			"tools": []any{object{"functionDeclarations": []any{object{"name": "run_shell_command", "parameters": bash}}}}}
	}, []string{"candidates.0.content.parts.0.text"}},
}

func (d dialect) url(stream bool) string {
	if stream {
		return strings.Replace(d.path, ":generateContent", ":streamGenerateContent", 1)
	}
	return d.path
}

// answerText joins the text of an answer, streamed or not.
func (d dialect) answerText(t *testing.T, body string) string {
	t.Helper()
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		for _, path := range d.texts {
			out.WriteString(str(dig(v, path)))
		}
	}
	return out.String()
}

func dig(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case object:
			v = x[key]
		case []any:
			if key != "0" || len(x) == 0 {
				return nil
			}
			v = x[0]
		default:
			return nil
		}
	}
	return v
}

func TestEveryDialectAnswersTextStreamedAndWhole(t *testing.T) {
	s := start(t)
	for name, d := range dialects {
		for _, stream := range []bool{false, true} {
			status, body := post(t, s, d.url(stream), d.ask("hi SCENARIO=text", stream))
			if got, want := d.answerText(t, body), "Hello from the mock. Turns seen: 1."; status != 200 || got != want {
				t.Errorf("%s stream=%v: %d %q, want %q", name, stream, status, got, want)
			}
		}
	}
}

func TestEveryDialectCallsTheOfferedShellAndReportsItsResult(t *testing.T) {
	s := start(t)
	for name, d := range dialects {
		for _, stream := range []bool{false, true} {
			_, body := post(t, s, d.url(stream), d.ask("SCENARIO=tool CMD=echo two  words", stream))
			// Streamed arguments come in two pieces.
			if !strings.Contains(body, "ho two  words") || !strings.Contains(body, "command") {
				t.Errorf("%s stream=%v: no call in %s", name, stream, body)
			}
			_, body = post(t, s, d.url(stream), d.ask("SCENARIO=tool", stream, "it-ran"))
			if got := d.answerText(t, body); !strings.Contains(got, "Tool said: ") || !strings.Contains(got, "it-ran") {
				t.Errorf("%s stream=%v: report %q", name, stream, got)
			}
		}
	}
}

func TestErrorsComeInTheProvidersShape(t *testing.T) {
	s := start(t)
	for name, d := range dialects {
		status, body := post(t, s, d.url(true), d.ask("SCENARIO=err429", true))
		if status != 429 || !strings.Contains(body, "mock error 429") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestFlakyFailsTwiceAndThenAnswers(t *testing.T) {
	s := start(t)
	d := dialects["chat"]
	for i, want := range []int{500, 500, 200} {
		if got, _ := post(t, s, d.path, d.ask("SCENARIO=flaky", false)); got != want {
			t.Errorf("try %d: got %d, want %d", i+1, got, want)
		}
	}
}

func TestCutBreaksTheConnection(t *testing.T) {
	s := start(t)
	d := dialects["chat"]
	_, body := post(t, s, d.path, d.ask("SCENARIO=cut", true))
	if !strings.HasSuffix(body, "!") || strings.Contains(body, "[DONE]") {
		t.Errorf("the stream ended in order: %q", body)
	}
}

func TestARequestWithoutToolsIsASideCall(t *testing.T) {
	s := start(t)
	_, body := post(t, s, "/v1/chat/completions", object{"messages": []any{object{"role": "user", "content": "name this SCENARIO=slow"}}})
	if !strings.Contains(body, "Mock title") {
		t.Errorf("got %s", body)
	}
	if got := s.Requests()[0]; got.Scenario != "slow" || got.API != "chat" {
		t.Errorf("recorded %+v", got)
	}
}

func TestCloseEndsASleepingAnswer(t *testing.T) {
	s := start(t)
	d := dialects["chat"]
	done := make(chan struct{})
	go func() {
		defer close(done)
		transport := &http.Transport{DisableKeepAlives: true}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		// Close breaks the connection, before the answer's head or behind it.
		if resp, err := client.Post(s.URL()+d.path, "application/json", strings.NewReader(encode(d.ask("SCENARIO=hang", true)))); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	for len(s.Requests()) == 0 {
		runtime.Gosched()
	}
	s.Close()
	<-done
}

func TestSettlePrefersTheNewestNamedMessage(t *testing.T) {
	tests := []struct {
		name string
		all  []said
		want string
		done int
	}{
		{"context in tags is passed over", []said{{text: "real"}, {text: "<env>x</env>"}}, "real", 0},
		{"only tags", []said{{text: "<env>x</env>"}}, "<env>x</env>", 0},
		{"results before the message don't count", []said{{text: "SCENARIO=a"}, {"r", true}, {text: "SCENARIO=b"}}, "SCENARIO=b", 0},
		{"results after it do", []said{{text: "SCENARIO=a"}, {"r", true}, {text: "<system-reminder>"}, {"s", true}}, "SCENARIO=a", 2},
	}
	for _, tt := range tests {
		p := &prompt{}
		p.settle(tt.all)
		if p.user != tt.want || len(p.results) != tt.done {
			t.Errorf("%s: got %q with %d results, want %q with %d", tt.name, p.user, len(p.results), tt.want, tt.done)
		}
	}
}
