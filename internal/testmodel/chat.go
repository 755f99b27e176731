package testmodel

import (
	"net/http"
	"time"
)

// writeChat answers in OpenAI's Chat Completions dialect.
func writeChat(a *answer) error {
	id := a.id("chatcmpl-")
	usage := object{"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150, "prompt_tokens_details": object{"cached_tokens": 20}}
	if !a.prompt.stream {
		return chatPlain(a, id, usage)
	}
	a.begin()
	chunk := func(choices []any, usage any) error {
		o := object{"id": id, "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": a.prompt.model, "choices": choices}
		if usage != nil {
			o["usage"] = usage
		}
		return a.event("", o)
	}
	delta := func(d object, finish any) error {
		return chunk([]any{object{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	if err := delta(object{"role": "assistant", "content": ""}, nil); err != nil {
		return err
	}
	finish, index := "stop", 0
	for _, s := range a.steps {
		done, err := a.aside(s)
		switch {
		case done:
		case s.kind == stepText:
			err = delta(object{"content": s.text}, nil)
		case s.kind == stepThink:
			err = delta(object{"reasoning_content": s.text}, nil)
		case s.kind == stepCall:
			finish = "tool_calls"
			err = chatCall(a, delta, index, s.call)
			index++
		}
		if err != nil {
			return err
		}
	}
	if err := delta(object{}, finish); err != nil {
		return err
	}
	if err := chunk([]any{}, usage); err != nil {
		return err
	}
	return a.raw("data: [DONE]\n\n")
}

func chatCall(a *answer, delta func(object, any) error, index int, c *toolCall) error {
	first := object{"index": index, "id": a.id("call_"), "type": "function", "function": object{"name": c.name, "arguments": ""}}
	if err := delta(object{"tool_calls": []any{first}}, nil); err != nil {
		return err
	}
	for _, part := range halves(c.args) {
		more := object{"index": index, "function": object{"arguments": part}}
		if err := delta(object{"tool_calls": []any{more}}, nil); err != nil {
			return err
		}
	}
	return nil
}

func chatPlain(a *answer, id string, usage object) error {
	whole, calls, err := a.plain()
	if err != nil {
		return err
	}
	message := object{"role": "assistant", "content": whole}
	finish := "stop"
	var list []any
	for _, c := range calls {
		finish = "tool_calls"
		list = append(list, object{"id": a.id("call_"), "type": "function", "function": object{"name": c.name, "arguments": encode(c.args)}})
	}
	if list != nil {
		message["tool_calls"] = list
	}
	return writeJSON(a.w, http.StatusOK, object{"id": id, "object": "chat.completion", "created": time.Now().Unix(), "model": a.prompt.model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": finish}}, "usage": usage})
}
