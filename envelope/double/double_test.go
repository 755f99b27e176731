package double_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/envelope/double"
	"dragoman/envelope/host"
	"dragoman/wire/envelope"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func parse(t *testing.T, scenario string) *double.Scenario {
	t.Helper()
	s, err := double.Parse(strings.NewReader(scenario))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func play(t *testing.T, scenario, in string) (out, stderr string, status int, err error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var o, e strings.Builder
	status, err = parse(t, scenario).Play(ctx, double.Streams{In: strings.NewReader(in), Out: &o, Err: &e})
	return o.String(), e.String(), status, err
}

func TestPlay(t *testing.T) {
	for _, tt := range []struct {
		name, scenario, in, out, stderr string
		status                          int
		wrong                           string
	}{
		{name: "nothing", scenario: "\n# a comment\n"},
		{name: "raw bytes", scenario: `{"raw":"a"}` + "\n" + `{"base64":"/w=="}` + "\n" + `{"raw":"b","times":3}`, out: "a\xffbbb"},
		{name: "split", scenario: `{"raw":"abcdef","splitAt":[1,3,99],"pauseMs":1}`, out: "abcdef"},
		{name: "stderr and exit", scenario: `{"stderr":"oh"}` + "\n" + `{"exit":7}` + "\n" + `{"raw":"never"}`, stderr: "oh\n", status: 7},
		{
			name: "any dialect", in: `{"jsonrpc":"2.0","id":9007199254740993,"method":"initialize","params":{"v":1}}` + "\n",
			scenario: `{"expect":{"method":"initialize","params":{}},"name":"q"}` + "\n" + `{"send":{"id":"${q.id}","result":{"m":"got ${q.method}: ${q.params.v}"}}}`,
			out:      `{"id":9007199254740993,"result":{"m":"got initialize: 1"}}` + "\n",
		},
		{name: "skip", in: "{\"a\":1}\ngarbage\n{\"a\":2}\n", scenario: `{"expect":{"a":2},"skip":true}` + "\n" + `{"expectEnd":true}`},
		{name: "wrong line", in: "{\"a\":1}\n", scenario: `{"expect":{"a":2}}`, status: 1, wrong: `line 1: got {\"a\":1}, expected {"a":2}`},
		{name: "end of input", scenario: `{"expect":{}}`, status: 1, wrong: "the input ended"},
		{name: "more input", in: "x\n", scenario: `{"expectEnd":true}`, status: 1, wrong: "expected the end"},
		{name: "unknown name", scenario: `{"send":"${x.y}"}`, status: 1, wrong: "no line is called x"},
		{
			name: "rules", in: "{\"n\":1}\n{\"n\":2}\n{\"m\":3}\n{\"n\":4}\n",
			scenario: `{"on":{"n":"*"},"do":[{"send":["${message.n}"]}]}` + "\n" + `{"expect":{"m":3}}` + "\n" + `{"raw":"between\n"}` + "\n" + `{"serve":true}`,
			out:      "[1]\n[2]\nbetween\n[4]\n",
		},
		{name: "repeat", scenario: `{"times":2,"do":[{"raw":"a"},{"delayMs":1},{"raw":"b"}]}`, out: "abab"},
		{name: "arrays", in: "[1,[2,\"x\"]]\n", scenario: `{"expect":[1,["*","x"]]}`},
		{name: "too late", in: "", scenario: `{"expect":{},"withinMs":1}`, status: 1, wrong: "the input ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, stderr, status, err := play(t, tt.scenario, tt.in)
			if out != tt.out || stderr != tt.stderr || status != tt.status {
				t.Errorf("got %q, %q, status %d, %v", out, stderr, status, err)
			}
			if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("got %v, want %q", err, tt.wrong)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	in, w := io.Pipe()
	defer w.Close()
	_, err := parse(t, `{"expect":{},"withinMs":1}`).Play(t.Context(), double.Streams{In: in})
	var m *double.Mismatch
	if !errors.As(err, &m) || !strings.Contains(m.Detail, "within") {
		t.Errorf("got %v", err)
	}
}

func TestHang(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if _, err := parse(t, `{"hang":true}`).Play(ctx, double.Streams{In: strings.NewReader("x\n")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestParse(t *testing.T) {
	for _, scenario := range []string{
		`{}`, `{"send":1,"raw":"x"}`, `{"sned":1}`, `[]`, `{"as":"acp"}`, `{"raw":"x","splitAt":[3,2]}`, `{"times":2,"do":[{"x":1}]}`,
		`{"delayMs":-1}`, `{"raw":"x","times":-1}`, `{`,
	} {
		_, err := double.Parse(strings.NewReader("\n" + scenario))
		var wrong *double.SyntaxError
		if !errors.As(err, &wrong) || wrong.Line != 2 {
			t.Errorf("%s: got %v", scenario, err)
		}
	}
}

// envelopeAgent is a double as an agent of the envelope protocol.
const envelopeAgent = `{"as":"envelope"}
{"send":{"kind":"hello","capabilities":["greet"]}}
{"expect":{"kind":"hello"}}
`

func double2host(t *testing.T, scenario string) (*host.Host, error) {
	t.Helper()
	s := parse(t, envelopeAgent+scenario)
	return host.Start(t.Context(), host.Pipe(func(ctx context.Context, r io.Reader, w io.Writer) error {
		_, err := s.Play(ctx, double.Streams{In: r, Out: w, Err: io.Discard})
		return err
	}), host.Config{Grants: []string{"greet"}})
}

func TestAsEnvelopeAgent(t *testing.T) {
	for _, tt := range []struct{ name, scenario, output, code string }{
		{"answers", `{"expect":{"kind":"request","input":{"who":"*"}},"name":"r"}
{"send":{"kind":"event","requestId":"${r.requestId}","event":"completed","output":{"text":"hi ${r.input.who}"}},"splitAt":[7,70],"pauseMs":1}
{"serve":true}`, `{"text":"hi Ada"}`, ""},
		{"refuses", `{"on":{"kind":"request"},"do":[{"send":{"kind":"error","requestId":"${message.requestId}","code":"BUSY","message":""}}]}
{"serve":true}`, "", "BUSY"},
		{"misbehaves", `{"expect":{"kind":"request"}}
{"raw":"{\"protocolVersion\":\"2.0\"}\n"}
{"hang":true}`, "", host.CodeMalformedProtocol},
		{"repeats a messageId", `{"expect":{"kind":"request"},"name":"r"}
{"send":{"kind":"event","messageId":"d1","requestId":"${r.requestId}","event":"x"}}
{"hang":true}`, "", host.CodeMalformedProtocol},
		{"dies", `{"expect":{"kind":"request"}}
{"exit":3}`, "", host.CodeProcessFailure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := double2host(t, tt.scenario)
			if err != nil {
				t.Fatal(err)
			}
			o, err := h.Request(t.Context(), "greet", []byte(`{"who":"Ada"}`), host.RequestOptions{Timeout: patience})
			var failed *host.Error
			if tt.code == "" && (err != nil || string(o.Output) != tt.output) ||
				tt.code != "" && (!errors.As(err, &failed) || failed.Code != tt.code) {
				t.Errorf("got %s and %v", o.Output, err)
			}
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCompletesEnvelopes(t *testing.T) {
	out, _, _, err := play(t, `{"as":"envelope"}
{"send":{"kind":"hello","capabilities":[]}}
{"send":{"kind":"cancel","requestId":"r1","messageId":"mine"}}
{"send":{}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	d := envelope.NewDecoder(envelope.Limits{})
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		e, err := d.Decode([]byte(line))
		if i < 2 && err != nil || i == 1 && e.MessageID != "mine" {
			t.Errorf("%s: %v", line, err)
		}
	}
}
