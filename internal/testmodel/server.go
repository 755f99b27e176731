package testmodel

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// maxRequestBytes bounds a provider request; agents send long contexts.
const maxRequestBytes = 64 << 20

// A Server is a running model server on loopback.
type Server struct {
	http http.Server
	url  string
	// stop ends every sleep of a script when the server closes.
	stop context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex
	requests []Request
	seen     map[string]int // flaky's memory, by the prompt's text
	serial   int
}

// A Request is one model call that the server answered, for assertions.
type Request struct {
	API, Path, Model, Scenario, User string
	Tools                            []string
	Results                          int
	Header                           http.Header
}

// Start serves on a free port of 127.0.0.1, or on addr when it isn't "".
// Close ends it.
func Start(addr string) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		return nil, errors.New("a model server listens on loopback only")
	}
	s := &Server{url: "http://" + l.Addr().String(), seen: map[string]int{}}
	s.stop, s.end = context.WithCancel(context.Background())
	s.http.Handler = s
	s.wg.Go(func() { s.http.Serve(l) })
	return s, nil
}

// URL is the server's base address, without a path.
func (s *Server) URL() string { return s.url }

// Close breaks every open connection and waits. It may be called twice.
func (s *Server) Close() error {
	s.end()
	err := s.http.Close()
	s.wg.Wait()
	return err
}

// Requests returns the model calls answered so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// An api is one provider's dialect.
type api struct {
	name  string
	read  func(object) (*prompt, []said)
	write func(*answer) error
}

func apiOf(path string) (api, bool) {
	switch {
	case strings.HasSuffix(path, "/responses"):
		return api{"responses", readResponses, writeResponses}, true
	case strings.HasSuffix(path, "/chat/completions"):
		return api{"chat", readChat, writeChat}, true
	case strings.HasSuffix(path, "/messages"):
		return api{"anthropic", readAnthropic, writeAnthropic}, true
	case strings.Contains(path, "/models/") && strings.HasSuffix(strings.ToLower(path), "generatecontent"):
		return api{"gemini", readGemini, writeGemini}, true
	}
	return api{}, false
}

// ServeHTTP answers one provider request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if r.Method != http.MethodPost {
		s.serveListing(w, path)
		return
	}
	var body object
	if err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxRequestBytes), &body); err != nil {
		writeJSON(w, http.StatusBadRequest, object{"error": object{"message": "testmodel: " + err.Error(), "type": "invalid_request_error"}})
		return
	}
	a, ok := apiOf(path)
	if !ok {
		s.serveCount(w, path)
		return
	}
	p, all := a.read(body)
	p.api, p.model = a.name, or(str(body["model"]), "mock-model")
	p.stream, _ = body["stream"].(bool)
	if a.name == "gemini" {
		_, rest, _ := strings.Cut(path, "/models/")
		name, verb, _ := strings.Cut(rest, ":")
		p.model, p.stream = name, strings.HasPrefix(verb, "stream")
	}
	p.settle(all)
	out := &answer{w: w, ctx: merge(r.Context(), s.stop), prompt: p, body: body, steps: steps(p, s.note(p, r)), id: s.nextID}
	if len(out.steps) > 0 && out.steps[0].kind == stepStatus {
		writeError(w, a.name, out.steps[0].status)
		return
	}
	if err := a.write(out); errors.Is(err, errCut) {
		panic(http.ErrAbortHandler) // the documented way to break a connection
	}
}

// merge ends with either context.
func merge(request, server context.Context) context.Context {
	ctx, cancel := context.WithCancel(request)
	context.AfterFunc(server, cancel)
	return ctx
}

// note records the request and returns how often its prompt came before.
func (s *Server) note(p *prompt, r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{
		API: p.api, Path: r.URL.Path, Model: p.model, Scenario: p.scenario, User: p.user,
		Tools: p.toolNames(), Results: len(p.results), Header: r.Header.Clone(),
	})
	before := s.seen[p.user]
	s.seen[p.user]++
	return before
}

func (s *Server) nextID(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return prefix + itoa(s.serial) + "x" + itoa(int(time.Now().UnixNano()%1e9))
}

var modelNames = []string{"mock-model", "mock-small"}

func (s *Server) serveListing(w http.ResponseWriter, path string) {
	entry := func(name string) object {
		return object{"id": name, "object": "model", "type": "model", "display_name": name, "created": 1_700_000_000, "created_at": "2026-01-01T00:00:00Z", "owned_by": "mock"}
	}
	switch {
	case strings.HasSuffix(path, "/models") && strings.Contains(path, "v1beta"):
		var list []any
		for _, m := range modelNames {
			list = append(list, object{"name": "models/" + m, "displayName": m, "supportedGenerationMethods": []any{"generateContent"}, "inputTokenLimit": 200_000, "outputTokenLimit": 8192})
		}
		writeJSON(w, http.StatusOK, object{"models": list})
	case strings.HasSuffix(path, "/models"):
		var list []any
		for _, m := range modelNames {
			list = append(list, entry(m))
		}
		writeJSON(w, http.StatusOK, object{"object": "list", "has_more": false, "data": list})
	case strings.Contains(path, "/models/"):
		writeJSON(w, http.StatusOK, entry(path[strings.LastIndexByte(path, '/')+1:]))
	case path == "/" || path == "/health":
		writeJSON(w, http.StatusOK, object{"ok": true})
	default:
		writeJSON(w, http.StatusNotFound, object{"error": object{"message": "testmodel: no such path " + path, "type": "not_found_error"}})
	}
}

func (s *Server) serveCount(w http.ResponseWriter, path string) {
	switch {
	case strings.HasSuffix(path, "count_tokens"):
		writeJSON(w, http.StatusOK, object{"input_tokens": 100})
	case strings.HasSuffix(path, ":countTokens"):
		writeJSON(w, http.StatusOK, object{"totalTokens": 100})
	default:
		writeJSON(w, http.StatusNotFound, object{"error": object{"message": "testmodel: no such path " + path, "type": "not_found_error"}})
	}
}
