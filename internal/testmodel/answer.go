package testmodel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// errCut says that the script breaks the connection.
var errCut = errors.New("cut by the script")

// An answer is one reply under way.
type answer struct {
	w      http.ResponseWriter
	ctx    context.Context
	prompt *prompt
	body   object
	steps  []step
	id     func(prefix string) string
}

// begin opens the event stream.
func (a *answer) begin() {
	h := a.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	a.w.WriteHeader(http.StatusOK)
	a.flush()
}

func (a *answer) flush() {
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

// event sends one server-sent event; name may be "".
func (a *answer) event(name string, v any) error {
	var b strings.Builder
	if name != "" {
		fmt.Fprintf(&b, "event: %s\n", name)
	}
	fmt.Fprintf(&b, "data: %s\n\n", encode(v))
	return a.raw(b.String())
}

func (a *answer) raw(s string) error {
	if _, err := a.w.Write([]byte(s)); err != nil {
		return err
	}
	a.flush()
	return a.ctx.Err()
}

// aside does what a step means in every dialect; done is false for text,
// thoughts and calls, which the dialect writes itself.
func (a *answer) aside(s step) (done bool, err error) {
	switch s.kind {
	case stepSleep:
		select {
		case <-time.After(s.pause):
			return true, nil
		case <-a.ctx.Done():
			return true, a.ctx.Err()
		}
	case stepCut:
		return true, errCut
	case stepBad:
		return true, a.raw("data: {this is not json\n\n")
	}
	return false, nil
}

// plain runs the asides of an answer that isn't streamed and returns its
// text and calls.
func (a *answer) plain() (whole string, calls []*toolCall, err error) {
	for _, s := range a.steps {
		switch s.kind {
		case stepText:
			whole += s.text
		case stepCall:
			calls = append(calls, s.call)
		case stepSleep, stepCut:
			if _, err := a.aside(s); err != nil {
				return "", nil, err
			}
		}
	}
	return whole, calls, nil
}

// halves splits a call's arguments, so that agents have to join them.
func halves(args object) [2]string {
	s := encode(args)
	h := len(s) / 2
	return [2]string{s[:h], s[h:]}
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(b)
	return err
}

// writeError answers with an HTTP error in the provider's own shape.
func writeError(w http.ResponseWriter, apiName string, status int) {
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
		404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	kind = or(kind, "api_error")
	message := fmt.Sprintf("mock error %d", status)
	if status == 429 || status == 503 || status == 529 {
		w.Header().Set("Retry-After", "1")
	}
	switch apiName {
	case "anthropic":
		writeJSON(w, status, object{"type": "error", "error": object{"type": kind, "message": message}})
	case "gemini":
		word := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}[status]
		writeJSON(w, status, object{"error": object{"code": status, "message": message, "status": or(word, "INTERNAL")}})
	default:
		var code any
		switch status {
		case 401:
			code = "invalid_api_key"
		case 429:
			code = "rate_limit_exceeded"
		}
		writeJSON(w, status, object{"error": object{"message": message, "type": kind, "param": nil, "code": code}})
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
