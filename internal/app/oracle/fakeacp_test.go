//go:build unix

package oracle

import (
	"slices"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json/jsontext"
)

// updates is an ACP agent with every kind of update. args switch on what it
// does otherwise.
func updates(f *fake, args []string) {
	a := &acpFake{fake: f, args: args, waiting: map[string]request{}}
	for {
		r, ok := f.next()
		if !ok {
			return
		}
		switch r.Method {
		case "initialize":
			a.initialize(r)
		case "session/new", "session/load", "session/resume":
			a.establish(r)
		case "session/prompt":
			a.prompt(r)
		case "session/cancel":
		case "":
			a.answered(r)
		default:
			if r.ID != nil {
				a.refuse(r, -32601, "no such method", nil)
			}
		}
	}
}

type acpFake struct {
	*fake
	args    []string
	waiting map[string]request // prompts by the id of the request that they wait for
}

func (a *acpFake) is(arg string) bool { return slices.Contains(a.args, arg) }

func (a *acpFake) update(u object) {
	a.notify("session/update", object{"sessionId": "A-1", "update": u})
}

func (a *acpFake) say(text string) {
	a.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}})
}

func (a *acpFake) initialize(r request) {
	switch {
	case a.is("version2"):
		a.reply(r, object{"protocolVersion": 2, "agentCapabilities": object{}})
		return
	case a.is("initfail"):
		a.refuse(r, -32603, "cannot start", nil)
		return
	}
	session := object{}
	if a.is("resume") {
		session["resume"] = object{}
	}
	a.reply(r, object{
		"protocolVersion": 1, "agentInfo": object{"name": "fake", "title": "Fake", "version": "9"},
		"agentCapabilities": object{"loadSession": !a.is("noload"), "promptCapabilities": object{"image": true}, "sessionCapabilities": session},
	})
}

func (a *acpFake) establish(r request) {
	switch {
	case a.is("newauth"):
		a.refuse(r, -32000, "Authentication required", nil)
		return
	case a.is("newquota"):
		a.refuse(r, -32603, "Quota exceeded for this account", nil)
		return
	}
	a.update(object{"sessionUpdate": "available_commands_update", "availableCommands": []any{object{"name": "x", "description": "d"}}})
	switch {
	case r.Method == "session/new":
		a.reply(r, object{"sessionId": "A-1"})
		return
	default:
		a.update(object{"sessionUpdate": "user_message_chunk", "content": object{"type": "text", "text": "old question"}})
		a.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": "old answer"}})
	}
	if a.is("null") {
		a.reply(r, nil)
	} else {
		a.reply(r, object{"via": r.Method})
	}
}

// endings are the ways in which a prompt ends at once, by a word in it; the
// first that it has counts.
var endings = []struct {
	word string
	end  func(a *acpFake, r request)
}{
	{"usage", func(a *acpFake, r request) {
		a.reply(r, object{"stopReason": "end_turn", "usage": object{"inputTokens": 1, "outputTokens": 2, "totalTokens": 3, "cachedReadTokens": 4, "thoughtTokens": 5}})
	}},
	{"maxtok", func(a *acpFake, r request) { a.reply(r, object{"stopReason": "max_tokens"}) }},
	{"newstop", func(a *acpFake, r request) { a.reply(r, object{"stopReason": "brand_new_reason"}) }},
	{"quota after", func(a *acpFake, r request) {
		a.say("partial")
		a.refuse(r, -32603, "You have hit your usage limit", nil)
	}},
	{"quota", func(a *acpFake, r request) { a.refuse(r, -32603, "You have hit your usage limit", nil) }},
	{"fail", func(a *acpFake, r request) {
		a.refuse(r, -32603, "Internal error", object{"data": object{"details": "x"}})
	}},
	{"die", func(a *acpFake, _ request) {
		a.say("partial")
		syscall.Exit(9)
	}},
	{"leave", func(a *acpFake, _ request) {
		a.say("partial")
		syscall.Exit(0)
	}},
	{"suicide", func(a *acpFake, _ request) {
		a.say("partial")
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	}},
}

func (a *acpFake) prompt(r request) {
	text := at(r.Params, "prompt", 0, "text").(string)
	has := func(word string) bool { return strings.Contains(text, word) }
	if has("updates") {
		a.everything()
	}
	if has("unknownkind") {
		a.update(object{"sessionUpdate": "brand_new_thing", "x": 1})
		a.say("still here")
	}
	switch {
	case has("unknownmethod"):
		a.notify("_vendor/hello", object{})
		a.print(object{"id": 700, "method": "fs/read_text_file", "params": object{"sessionId": "A-1", "path": "/etc/hostname"}})
		a.waiting["700"] = r
		return
	case has("diff"):
		a.ask()
		a.waiting[`"perm-1"`] = r
		return
	}
	for _, e := range endings {
		if has(e.word) {
			e.end(a, r)
			return
		}
	}
	if has("junk") {
		_, _ = a.out.Write([]byte("plain log line\n{\"level\":\"info\"}\n[1,2]\n\n"))
	}
	if has("strayreply") {
		a.print(object{"id": 424242, "result": object{}})
	}
	a.say("echo " + text)
	a.reply(r, object{"stopReason": "end_turn"})
}

// everything sends one update of each kind.
func (a *acpFake) everything() {
	text := func(t string) object { return object{"type": "text", "text": t} }
	a.update(object{"sessionUpdate": "agent_thought_chunk", "content": text("hmm")})
	a.say("a")
	a.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "image", "data": "AAAA", "mimeType": "image/png"}})
	a.update(object{"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Read file", "kind": "read", "status": "pending",
		"content": []any{}, "locations": []any{object{"path": "/a", "line": 3}}, "rawInput": object{"p": 1}})
	a.update(object{"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
		"content": []any{object{"type": "content", "content": text("out")}}})
	a.update(object{"sessionUpdate": "tool_call", "toolCallId": "c2", "title": "  "})
	a.update(object{"sessionUpdate": "plan", "entries": []any{object{"content": "step", "priority": "high", "status": "pending"}}})
	a.update(object{"sessionUpdate": "current_mode_update", "currentModeId": "code"})
	a.update(object{"sessionUpdate": "usage_update", "used": 5, "size": 100})
	a.say("b")
}

// ask asks for a permission whose call has every kind of content.
func (a *acpFake) ask() {
	diff := func(path string, before any) object {
		return object{"type": "diff", "path": path, "oldText": before, "newText": "new"}
	}
	a.print(object{"id": "perm-1", "method": "session/request_permission", "params": object{
		"sessionId": "A-1",
		"toolCall": object{"toolCallId": "c9", "content": []any{
			object{"type": "content", "content": object{"type": "text", "text": "why"}},
			diff("/w/f", nil), diff("/w/g", "old"), object{"type": "terminal", "terminalId": "t1"},
		}},
		"options": []any{object{"optionId": "a", "name": "Allow", "kind": "allow_always"}},
	}})
}

// answered says what came back, and ends the turn that waited for it.
func (a *acpFake) answered(r request) {
	prompt, ok := a.waiting[string(r.ID)]
	if !ok {
		return
	}
	delete(a.waiting, string(r.ID))
	code := any(nil)
	if r.Error != nil {
		code = r.Error.Code
	}
	result := r.Result
	if result == nil {
		result = jsontext.Value("null")
	}
	a.say(compact(object{"code": code, "result": result}))
	a.reply(prompt, object{"stopReason": "end_turn"})
}
