//go:build unix

package oracle

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// server is an agent behind HTTP that announces itself on stdout.
func server(f *fake, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(f.out, "banner line\nserver password s3cret\nserver listening on http://%s\n", l.Addr())
	s := &serverFake{}
	panic(http.Serve(l, s))
}

// serverFake holds the feed of one session, newest first.
type serverFake struct {
	mu   sync.Mutex
	feed []object
}

func (s *serverFake) add(records ...object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.feed = slices.Insert(s.feed, 0, r)
	}
}

func (s *serverFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "opencode" || password != "s3cret" {
		write(w, http.StatusUnauthorized, object{"error": "unauthorised"})
		return
	}
	if r.Method == http.MethodGet {
		s.mu.Lock()
		defer s.mu.Unlock()
		write(w, http.StatusOK, object{"data": append([]object{}, s.feed...)})
		return
	}
	var body object
	_ = json.UnmarshalRead(r.Body, &body)
	switch path := r.URL.Path; {
	case path == "/api/session":
		write(w, http.StatusOK, object{"data": object{"id": "ses_1"}})
	case strings.HasSuffix(path, "/model"):
		if at(body, "model", "id") == "missing" {
			write(w, http.StatusNotFound, object{"error": "model not found"})
			return
		}
		write(w, http.StatusOK, object{"data": object{}})
	case strings.HasSuffix(path, "/interrupt"):
		s.add(object{"type": "idle", "outcome": "interrupted", "time": object{"created": time.Now().UnixMilli()}})
		write(w, http.StatusOK, object{"data": object{}})
	case strings.HasSuffix(path, "/prompt"):
		s.prompt(w, body["text"].(string))
	default:
		write(w, http.StatusNotFound, object{"error": "not found"})
	}
}

func (s *serverFake) prompt(w http.ResponseWriter, text string) {
	now := time.Now().UnixMilli()
	made := func(ms int64) object { return object{"created": now + ms} }
	s.add(object{"id": "u", "type": "user", "time": made(0)})
	has := func(word string) bool { return strings.Contains(text, word) }
	switch {
	case has("quota"):
		write(w, http.StatusTooManyRequests, object{"error": "quota exceeded"})
		return
	case has("fail"):
		s.add(object{"type": "idle", "outcome": "failed", "time": made(1), "error": object{"type": "provider.auth", "message": "key expired"}})
	case !has("hang"):
		s.add(object{"type": "assistant", "time": made(1), "content": []any{object{"type": "text", "text": "served: " + text}},
			"tokens": object{"input": 9, "output": 4, "reasoning": 1, "cache": object{"read": 2, "write": 3}}},
			object{"type": "idle", "outcome": "succeeded", "time": made(2)})
	}
	write(w, http.StatusOK, object{"data": object{"id": "u", "time": made(0)}})
}

func write(w http.ResponseWriter, status int, v object) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
