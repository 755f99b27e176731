package opencode

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
)

const sessionID = "ses_1"

// A fake is an OpenCode server that does what the words of lanetest ask.
type fake struct {
	opening lanetest.Opening
	// script answers prompts that aren't lanetest's: each event goes out as it
	// stands, after the prompt's own message.
	script func(text string) []string

	p     lanetest.Stdio
	end   chan lane.ExitStatus
	mu    sync.Mutex
	cond  *sync.Cond
	got   []string // METHOD PATH BODY
	bad   []string // requests without password or folder
	subs  []*subscription
	store []string // what GET /message answers
	next  int      // numbers the prompts
	busy  bool
	deaf  bool
	asked bool
}

// A subscription is one stream of events.
type subscription struct {
	events []string
	closed bool
}

func newFake() *fake {
	f := &fake{end: make(chan lane.ExitStatus, 1)}
	f.cond = sync.NewCond(&f.mu)
	return f
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func (f *fake) run(ctx context.Context, p lanetest.Stdio) lane.ExitStatus {
	f.p = p
	switch f.opening {
	case lanetest.OpenSilent:
		<-ctx.Done()
		return lane.ExitStatus{Code: -1, Signal: "SIGKILL"}
	case lanetest.OpenCrash:
		fmt.Fprintln(p.Err, lanetest.LastWords)
		return lane.ExitStatus{Code: lanetest.CrashCode}
	}
	server := httptest.NewServer(f)
	fmt.Fprintf(p.Out, "Warning: something\n%s%s\n", sayAddress, server.URL)
	var status lane.ExitStatus
	select {
	case <-ctx.Done():
		status = lane.ExitStatus{Code: -1, Signal: "SIGKILL"}
	case status = <-f.end:
	}
	f.drop()
	server.CloseClientConnections()
	server.Close()
	return status
}

// drop breaks every stream.
func (f *fake) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subs {
		s.closed = true
	}
	f.subs = nil
	f.cond.Broadcast()
}

// emit sends an event to every stream.
func (f *fake) emit(kind, format string, args ...any) {
	f.send(fmt.Sprintf(`{"type":%q,"properties":%s}`, kind, fmt.Sprintf(format, args...)))
}

func (f *fake) send(event string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subs {
		s.events = append(s.events, event)
	}
	f.cond.Broadcast()
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, password, _ := r.BasicAuth()
	f.mu.Lock()
	f.got = append(f.got, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
	if password == "" || password != lookup(f.p.Env, envPassword) || r.URL.Query().Get("directory") != f.p.Dir {
		f.bad = append(f.bad, r.Method+" "+r.URL.Path)
	}
	f.mu.Unlock()
	switch path := r.Method + " " + r.URL.Path; {
	case path == "GET /event":
		f.stream(w, r)
	case path == "GET /agent":
		io.WriteString(w, `[{"name":"build","mode":"primary"},{"name":"plan","mode":"primary"},{"name":"general","mode":"subagent"},{"name":"title","mode":"primary","hidden":true}]`)
	case path == "GET /config/providers":
		io.WriteString(w, `{"providers":[{"id":"mock","models":{"small":{"id":"small","name":"Small","limit":{"context":1000}},"large":{"id":"large"}}}]}`)
	case path == "GET /config":
		io.WriteString(w, `{"model":"mock/small"}`)
	case path == "GET /session/status":
		f.mu.Lock()
		busy := f.busy
		f.mu.Unlock()
		if busy {
			io.WriteString(w, `{"ses_1":{"type":"busy"}}`)
		} else {
			io.WriteString(w, `{}`)
		}
	case path == "GET /permission":
		io.WriteString(w, `[]`)
	case path == "POST /session", path == "GET /session/"+sessionID:
		io.WriteString(w, `{"id":"ses_1","version":"1.18.33","title":"New session"}`)
	case path == "GET /session/"+sessionID+"/message":
		f.mu.Lock()
		defer f.mu.Unlock()
		io.WriteString(w, "["+strings.Join(f.store, ",")+"]")
	case strings.HasSuffix(path, "/prompt_async"):
		w.WriteHeader(http.StatusNoContent)
		parts, _ := acp.AsObject(body).List("parts")
		go f.prompt(acp.AsObject(parts[0]).Str("text"))
	case strings.HasSuffix(path, "/abort"):
		f.aborted()
		io.WriteString(w, "true")
	case strings.HasPrefix(path, "POST /permission/"):
		f.replied(acp.AsObject(body).Str("reply"))
		io.WriteString(w, "true")
	default:
		http.NotFound(w, r)
	}
}

// stream serves one stream until it is dropped or the client goes.
func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	s := &subscription{events: []string{`{"type":"server.connected","properties":{}}`}}
	f.mu.Lock()
	f.subs = append(f.subs, s)
	f.mu.Unlock()
	stop := context.AfterFunc(r.Context(), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		s.closed = true
		f.cond.Broadcast()
	})
	defer stop()
	for {
		f.mu.Lock()
		for len(s.events) == 0 && !s.closed {
			f.cond.Wait()
		}
		events, closed := s.events, s.closed
		s.events = nil
		f.mu.Unlock()
		var out bytes.Buffer
		for _, e := range events {
			fmt.Fprintf(&out, "data: %s\n\n", e)
		}
		if _, err := w.Write(out.Bytes()); err != nil || closed {
			return
		}
		w.(http.Flusher).Flush()
	}
}

// begins tells the prompt's message and the answer's.
func (f *fake) begins(text string) {
	f.mu.Lock()
	f.next++
	f.busy = true
	n := f.next
	f.mu.Unlock()
	f.emit("message.updated", `{"sessionID":"ses_1","info":{"id":"msg_u%d","role":"user","sessionID":"ses_1"}}`, n)
	f.emit("message.part.updated", `{"sessionID":"ses_1","part":{"id":"prt_u%d","messageID":"msg_u%d","type":"text","text":%s}}`, n, n, quote(text))
	f.emit("message.updated", `{"sessionID":"ses_1","info":{"id":"msg_a%d","parentID":"msg_u%d","role":"assistant"}}`, n, n)
}

// say is a text in a piece, then as a whole.
func (f *fake) say(text string) {
	f.mu.Lock()
	n := f.next
	f.mu.Unlock()
	f.emit("message.part.updated", `{"part":{"id":"prt_%d","messageID":"msg_a%d","sessionID":"ses_1","type":"text","text":""}}`, n, n)
	f.emit("message.part.delta", `{"sessionID":"ses_1","messageID":"msg_a%d","partID":"prt_%d","field":"text","delta":%s}`, n, n, quote(text))
	f.emit("message.part.updated", `{"part":{"id":"prt_%d","messageID":"msg_a%d","sessionID":"ses_1","type":"text","text":%s,"time":{"end":1}}}`, n, n, quote(text))
}

// settle ends the turn with a finish reason, or an error as JSON.
func (f *fake) settle(finish, fault string) {
	f.mu.Lock()
	was, n := f.busy, f.next
	f.busy = false
	f.mu.Unlock()
	if !was {
		return
	}
	f.emit("message.updated", `{"info":{"id":"msg_a%d","parentID":"msg_u%d","role":"assistant","sessionID":"ses_1","finish":%q,"cost":0.5,"tokens":{"input":3,"output":4,"reasoning":1,"cache":{"read":2,"write":0}}}}`, n, n, finish)
	if fault != "" {
		f.emit("session.error", `{"sessionID":"ses_1","error":%s}`, fault)
	}
	f.emit("session.status", `{"sessionID":"ses_1","status":{"type":"idle"}}`)
	f.emit("session.idle", `{"sessionID":"ses_1"}`)
}

func (f *fake) aborted() {
	f.mu.Lock()
	deaf := f.deaf
	f.mu.Unlock()
	if !deaf {
		f.settle("", `{"name":"MessageAbortedError","data":{"message":"Aborted"}}`)
	}
}

func (f *fake) replied(reply string) {
	f.mu.Lock()
	asked := f.asked
	f.asked = false
	f.mu.Unlock()
	switch {
	case !asked:
	case reply == replyReject:
		f.say(lanetest.Refused)
		f.settle("tool-calls", "")
	default:
		f.say(lanetest.Granted)
		f.settle("stop", "")
	}
}

func (f *fake) prompt(text string) {
	f.begins(text)
	switch text {
	case lanetest.Echo:
		f.say("echo: " + text)
		f.settle("stop", "")
	case lanetest.Chunks:
		f.emit("message.part.updated", `{"part":{"id":"prt_c","messageID":"msg_a%d","sessionID":"ses_1","type":"text","text":""}}`, f.next)
		for i := range lanetest.ChunkCount {
			f.emit("message.part.delta", `{"sessionID":"ses_1","partID":"prt_c","field":"text","delta":"%d "}`, i)
		}
		f.settle("stop", "")
	case lanetest.Ask:
		f.ask(sessionID, lanetest.CallID)
	case lanetest.Hang:
		f.say(lanetest.Working)
	case lanetest.Deaf:
		f.mu.Lock()
		f.deaf = true
		f.mu.Unlock()
		f.say(lanetest.Working)
	case lanetest.Crash:
		f.say(lanetest.Partial)
		f.flushed()
		fmt.Fprintln(f.p.Err, lanetest.LastWords)
		f.end <- lane.ExitStatus{Code: lanetest.CrashCode}
	default:
		for _, e := range f.script(text) {
			f.send(e)
		}
	}
}

// flushed waits until every event was taken by its stream.
func (f *fake) flushed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cond.Broadcast()
	for slices.ContainsFunc(f.subs, func(s *subscription) bool { return len(s.events) > 0 }) {
		f.mu.Unlock()
		f.mu.Lock()
	}
}

// ask asks for a permission of a session's.
func (f *fake) ask(session, callID string) {
	f.mu.Lock()
	f.asked = true
	n := f.next
	f.mu.Unlock()
	f.emit("message.part.updated", `{"part":{"id":"prt_t","messageID":"msg_a%d","sessionID":%q,"type":"tool","tool":"bash","callID":%q,"state":{"status":"running","input":{"command":"ls"}}}}`, n, session, callID)
	f.emit("permission.asked", `{"id":"per_1","sessionID":%q,"permission":"bash","patterns":["ls"],"metadata":{},"always":["ls *"],"tool":{"messageID":"msg_a%d","callID":%q}}`, session, n, callID)
}
