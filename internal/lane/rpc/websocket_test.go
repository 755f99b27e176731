package rpc

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/agent"

	"github.com/coder/websocket"
)

// daemon is an agent with a web-socket: it announces itself and answers the
// setup and one turn.
func daemon(t *testing.T, announce func(url string) string) lanetest.Program {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(rw, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			_, data, err := c.Read(r.Context())
			if err != nil {
				return
			}
			for _, line := range answerSocket(string(data)) {
				c.Write(r.Context(), websocket.MessageText, []byte(line))
			}
		}
	}))
	t.Cleanup(server.Close)
	return func(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
		fmt.Fprint(p.Out, "banner\n"+announce("ws"+strings.TrimPrefix(server.URL, "http")))
		for ctx.Err() == nil { // more than any pipe holds: somebody must read it
			if _, err := fmt.Fprintln(p.Out, strings.Repeat("log ", 1000)); err != nil {
				break
			}
		}
		return lane.ExitStatus{}
	}
}

func answerSocket(m string) []string {
	id := m[strings.LastIndex(m, `"id":`)+5 : len(m)-1]
	switch {
	case strings.Contains(m, `"method":"prompt"`) && strings.Contains(m, "big"):
		return []string{`{"method":"x","params":"` + strings.Repeat("x", minFrameBytes) + `"}`}
	case strings.Contains(m, `"method":"prompt"`):
		return []string{`{"id":` + id + `,"result":{"turn":{"id":"t1"}}}`, delta("over a socket"), "{\n" + doneT1[1:]}
	case strings.Contains(m, `"method":"initialized"`):
		return nil
	}
	return []string{`{"id":` + id + `,"result":{"id":"S"}}`}
}

func socketSpec() obj {
	return declared(obj{"transport": obj{"web-socket": obj{"announce": "endpoint: "}},
		"command": obj{"program": "agent", "args": []string{"--port={port}", "{port}"}}})
}

func TestWebSocket(t *testing.T) {
	s, err := tryOpen(t, socketSpec(), daemon(t, func(url string) string { return "endpoint: " + url + "/path \n" }), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := s.starter.Started()[0].Command
	if port, ok := strings.CutPrefix(c.Args[0], "--port="); !ok || port != c.Args[1] || strings.Trim(port, "0123456789") != "" {
		t.Errorf("args %q", c.Args)
	}
	out, err := s.prompt("hi")
	if err != nil || out.Text != "over a socket" || s.conn.Info().NativeID != "S" {
		t.Errorf("outcome %+v, %v", out, err)
	}
	_, err = s.prompt("big")
	e := wantError(t, err, agent.CodeTransportFailed, stageCall, agent.FlagsBroken)
	if !strings.Contains(e.Detail, "oversized_frame") {
		t.Errorf("detail %q", e.Detail)
	}
	s.close()
}

func TestAnnouncement(t *testing.T) {
	tests := []struct {
		name, said, code, stage string
		flags                   agent.Flags
	}{
		{"not loopback", "endpoint: ws://10.0.0.1:9\n", agent.CodeProtocolFailed, stageConnect, agent.FlagsFinal},
		{"a name that looks like it", "endpoint: ws://localhost.example.org:9\n", agent.CodeProtocolFailed, stageConnect, agent.FlagsFinal},
		{"not a web-socket", "endpoint: http://127.0.0.1:9\n", agent.CodeProtocolFailed, stageConnect, agent.FlagsFinal},
		{"encrypted", "endpoint: wss://127.0.0.1:9\n", agent.CodeProtocolFailed, stageConnect, agent.FlagsFinal},
		{"no port", "endpoint: ws://127.0.0.1\n", agent.CodeProtocolFailed, stageConnect, agent.FlagsFinal},
		{"the first line counts", "endpoint: ws://127.0.0.1\nendpoint: ws://127.0.0.1:9\n", agent.CodeProtocolFailed, stageConnect, agent.FlagsFinal},
		{"nobody listens", "endpoint: ws://[::1]:1\n", agent.CodeProtocolFailed, stageConnect, agent.FlagsBroken},
		{"none", "nothing\n", agent.CodeTransportFailed, stageOpen, agent.FlagsBroken},
		{"too late", strings.Repeat("x\n", maxAnnounce/2) + "endpoint: ws://127.0.0.1:9\n", agent.CodeTransportFailed, stageOpen, agent.FlagsBroken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tryOpen(t, socketSpec(), func(_ context.Context, p lanetest.Stdio) lane.ExitStatus {
				fmt.Fprint(p.Out, tt.said)
				return lane.ExitStatus{}
			}, nil)
			wantError(t, err, tt.code, tt.stage, tt.flags)
		})
	}
}
