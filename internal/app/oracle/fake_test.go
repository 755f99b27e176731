//go:build unix

package oracle

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The scripted agents of the recordings: words in a prompt choose what they
// do. They speak what the lanes acp, rpc and serve are declared for, and know
// nothing of dragoman.

type object = map[string]any

// fakes are the agents by name; args follow the name.
var fakes = map[string]func(f *fake, args []string){
	"thread": thread, "typed": typed, "updates": updates, "server": server,
}

// A fake is an agent's view of its streams.
type fake struct {
	in  *bufio.Reader
	out io.Writer
}

func runFake(in io.Reader, out io.Writer, args []string) {
	f := &fake{bufio.NewReader(in), out}
	fakes[args[0]](f, args[1:])
}

// A request is what an agent reads. Typed lines have their members at the top.
type request struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params object         `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Code int `json:"code"`
	} `json:"error"`
	all object
}

func (f *fake) next() (r request, ok bool) {
	line, err := f.in.ReadBytes('\n')
	if err != nil {
		return r, false
	}
	if err := json.Unmarshal(line, &r); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(line, &r.all); err != nil {
		panic(err)
	}
	return r, true
}

func (f *fake) print(m object) {
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	_, _ = f.out.Write(append(b, '\n'))
}

func (f *fake) reply(r request, result any) { f.print(object{"id": r.ID, "result": result}) }
func (f *fake) refuse(r request, code int, message string, more object) {
	e := object{"code": code, "message": message}
	for k, v := range more {
		e[k] = v
	}
	f.print(object{"id": r.ID, "error": e})
}
func (f *fake) notify(method string, params object) {
	f.print(object{"method": method, "params": params})
}

// word is a value as the recordings have it in a text.
func word(v any) string {
	if v == nil {
		return "None"
	}
	return fmt.Sprint(v)
}

// at follows keys and indexes into a decoded value.
func at(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			v = v.(object)[s]
		case int:
			v = v.([]any)[s]
		}
	}
	return v
}

// thread is an agent of JSON-RPC calls whose turns end by a notification.
func thread(f *fake, _ []string) {
	turns, hanging := 0, ""
	for {
		r, ok := f.next()
		if !ok {
			return
		}
		turn := fmt.Sprintf("turn-%d", turns)
		switch {
		case r.Method == "initialize":
			f.reply(r, object{"userAgent": "fake"})
		case r.Method == "initialized":
		case r.Method == "thread/start", r.Method == "thread/resume":
			f.notify("thread/started", object{"thread": object{"id": "T-9"}})
			id := r.Params["threadId"]
			if id == nil {
				id = "T-9"
			}
			f.reply(r, object{"thread": object{"id": id}, "sandbox": r.Params["sandbox"]})
		case r.Method == "turn/start":
			turns++
			if f.turn(r, fmt.Sprintf("turn-%d", turns)) {
				hanging = fmt.Sprintf("turn-%d", turns)
			}
		case r.Method == "turn/interrupt":
			if r.ID != nil {
				f.reply(r, object{})
			}
			if hanging != "" && hanging == r.Params["turnId"] {
				f.completed(hanging, "interrupted")
				hanging = ""
			}
		case r.Method == "" && string(r.ID) == "501":
			code := any(nil)
			if r.Error != nil {
				code = r.Error.Code
			}
			f.notify("approval/answer", object{"error": code, "result": r.Result})
			f.completed(turn, "completed")
		case r.ID != nil:
			f.refuse(r, -32601, "no such method", nil)
		}
	}
}

func (f *fake) completed(turn, status string) {
	f.notify("turn/completed", object{"turn": object{"id": turn, "status": status}})
}

func (f *fake) delta(turn, text string) {
	f.notify("item/agentMessage/delta", object{"delta": text, "turnId": turn})
}

// turn runs one turn of thread; true if it hangs.
func (f *fake) turn(r request, turn string) (hangs bool) {
	text := at(r.Params, "input", 0, "text").(string)
	has := func(word string) bool { return strings.Contains(text, word) }
	accepted := object{"turn": object{"id": turn}}
	switch {
	case has("refuse"):
		f.refuse(r, -32000, "usage limit reached", nil)
		return false
	case has("early"):
		f.delta(turn, "early ")
		f.completed(turn, "completed")
		f.reply(r, accepted)
		return false
	case has("noid"):
		f.reply(r, object{"turn": object{}})
		return false
	}
	f.reply(r, accepted)
	if has("other") {
		f.completed("turn-999", "completed")
	}
	if has("ask") {
		f.print(object{"id": 501, "method": "item/commandExecution/requestApproval", "params": object{"command": "ls"}})
		return false
	}
	f.delta(turn, "you said: ")
	f.delta(turn, text+" model="+word(r.Params["model"])+" effort="+word(r.Params["effort"]))
	f.notify("thread/tokenUsage/updated", object{"usage": object{"input_tokens": 11, "output_tokens": 2, "total_tokens": 13}})
	switch {
	case has("die"):
		syscall.Exit(7)
	case has("hang"):
		return true
	}
	f.completed(turn, "completed")
	return false
}

// typed is an agent of lines with a type instead of a method.
func typed(f *fake, _ []string) {
	for {
		r, ok := f.next()
		if !ok {
			return
		}
		kind, _ := r.all["type"].(string)
		respond := func(success bool, more object) {
			m := object{"type": "response", "command": kind, "success": success, "id": r.ID}
			for k, v := range more {
				m[k] = v
			}
			f.print(m)
		}
		switch {
		case kind == "get_state":
			respond(true, object{"data": object{"sessionId": "flat-1", "model": nil}})
		case kind == "set_model", kind == "set_thinking_level":
			got := object{}
			for k, v := range r.all {
				if k != "type" && k != "id" {
					got[k] = v
				}
			}
			f.print(object{"type": "config", "command": kind, "got": got})
			if r.all["modelId"] == "missing" {
				respond(false, object{"error": "Model not found"})
			} else {
				respond(true, nil)
			}
		case kind == "prompt":
			respond(true, nil)
			f.typedTurn(r.all["message"].(string))
		case kind == "abort":
			f.print(object{"type": "agent_settled"})
		case kind == "response":
			answer := object{}
			for _, k := range []string{"id", "success", "command", "error", "data"} {
				answer[k] = r.all[k]
			}
			f.print(object{"type": "answered", "data": answer})
			f.print(object{"type": "agent_settled"})
		case r.ID != nil:
			respond(false, object{"error": "unknown"})
		}
	}
}

func (f *fake) typedTurn(text string) {
	has := func(word string) bool { return strings.Contains(text, word) }
	f.print(object{"type": "agent_start"})
	if has("fail") {
		f.print(object{"type": "message_end", "message": object{"stopReason": "error", "errorMessage": "boom"}})
		f.print(object{"type": "agent_settled"})
		return
	}
	for _, delta := range []string{"one ", "two ", text} {
		f.print(object{"type": "message_update", "assistantMessageEvent": object{"type": "text_delta", "delta": delta}})
	}
	switch {
	case has("question"):
		f.print(object{"type": "ask_host", "id": "q1", "data": object{"title": "ok?"}})
		return
	case has("big"):
		f.print(object{"type": "agent_end", "messages": strings.Repeat("x", 2<<20)})
	}
	f.print(object{"type": "turn_end", "message": object{"usage": object{"input": 5, "output": 6, "cacheRead": 1}}})
	f.print(object{"type": "agent_settled"})
}

// compact is a value as the recordings have it in a text: a blank behind each
// comma and colon.
func compact(v object) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	b := jsontext.Value(raw)
	if err := b.Canonicalize(); err != nil { // members by name at any depth
		panic(err)
	}
	var out bytes.Buffer
	inString := false
	for i, c := range b {
		out.WriteByte(c)
		if c == '"' && b[i-1] != '\\' {
			inString = !inString
		}
		if !inString && (c == ',' || c == ':') {
			out.WriteByte(' ')
		}
	}
	return out.String()
}
