package testmodel

import (
	"net/http"
	"time"
)

// writeResponses answers in OpenAI's Responses dialect.
func writeResponses(a *answer) error {
	s := &responsesStream{a: a}
	s.base = object{"id": a.id("resp_"), "object": "response", "created_at": time.Now().Unix(), "model": a.prompt.model,
		"status": "in_progress", "output": []any{}, "usage": nil, "error": nil}
	if !a.prompt.stream {
		return s.plain()
	}
	a.begin()
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := s.send(kind, object{"response": s.base}); err != nil {
			return err
		}
	}
	for _, step := range a.steps {
		if err := s.step(step); err != nil {
			return err
		}
	}
	if err := s.closeItem(); err != nil {
		return err
	}
	return s.send("response.completed", object{"response": s.completed()})
}

// responsesStream keeps the item that is being written.
type responsesStream struct {
	a        *answer
	base     object
	sequence int
	output   []any

	open bool
	kind stepKind // text or think
	id   string
	full string
}

func (s *responsesStream) send(kind string, o object) error {
	o["type"], o["sequence_number"] = kind, s.sequence
	s.sequence++
	return s.a.event(kind, o)
}

// at sends an event of the item that is being written.
func (s *responsesStream) at(kind string, o object) error {
	o["output_index"] = len(s.output)
	return s.send(kind, o)
}

func (s *responsesStream) completed() object {
	done := object{}
	for k, v := range s.base {
		done[k] = v
	}
	done["status"], done["output"] = "completed", append([]any{}, s.output...)
	done["usage"] = object{"input_tokens": 120, "input_tokens_details": object{"cached_tokens": 20},
		"output_tokens": 30, "output_tokens_details": object{"reasoning_tokens": 5}, "total_tokens": 150}
	return done
}

func (s *responsesStream) step(st step) error {
	if done, err := s.a.aside(st); done || err != nil {
		return err
	}
	if st.kind == stepCall {
		return s.call(st.call)
	}
	if !s.open || s.kind != st.kind {
		if err := s.openItem(st.kind); err != nil {
			return err
		}
	}
	s.full += st.text
	if s.kind == stepThink {
		return s.at("response.reasoning_summary_text.delta", object{"item_id": s.id, "summary_index": 0, "delta": st.text})
	}
	return s.at("response.output_text.delta", object{"item_id": s.id, "content_index": 0, "delta": st.text})
}

func (s *responsesStream) openItem(kind stepKind) error {
	if err := s.closeItem(); err != nil {
		return err
	}
	s.open, s.kind, s.full = true, kind, ""
	if kind == stepThink {
		s.id = s.a.id("rs_")
		if err := s.at("response.output_item.added", object{"item": object{"type": "reasoning", "id": s.id, "summary": []any{}}}); err != nil {
			return err
		}
		return s.at("response.reasoning_summary_part.added", object{"item_id": s.id, "summary_index": 0, "part": summaryPart("")})
	}
	s.id = s.a.id("msg_")
	item := object{"type": "message", "id": s.id, "role": "assistant", "status": "in_progress", "content": []any{}}
	if err := s.at("response.output_item.added", object{"item": item}); err != nil {
		return err
	}
	return s.at("response.content_part.added", object{"item_id": s.id, "content_index": 0, "part": textPart("")})
}

func (s *responsesStream) closeItem() error {
	if !s.open {
		return nil
	}
	s.open = false
	var item object
	var events []string
	var member object
	if s.kind == stepThink {
		item = object{"type": "reasoning", "id": s.id, "summary": []any{summaryPart(s.full)}, "encrypted_content": "bW9jaw=="}
		events = []string{"response.reasoning_summary_text.done", "response.reasoning_summary_part.done"}
		member = object{"item_id": s.id, "summary_index": 0, "text": s.full, "part": summaryPart(s.full)}
	} else {
		item = object{"type": "message", "id": s.id, "role": "assistant", "status": "completed", "content": []any{textPart(s.full)}}
		events = []string{"response.output_text.done", "response.content_part.done"}
		member = object{"item_id": s.id, "content_index": 0, "text": s.full, "part": textPart(s.full)}
	}
	for _, kind := range events {
		if err := s.at(kind, member); err != nil {
			return err
		}
	}
	return s.finish(item)
}

func (s *responsesStream) finish(item object) error {
	err := s.at("response.output_item.done", object{"item": item})
	s.output = append(s.output, item)
	return err
}

func (s *responsesStream) call(c *toolCall) error {
	if err := s.closeItem(); err != nil {
		return err
	}
	item := responsesCall(s.a, c)
	begun := object{}
	for k, v := range item {
		begun[k] = v
	}
	begun["status"] = "in_progress"
	field := map[string]string{"function_call": "arguments", "custom_tool_call": "input"}[str(item["type"])]
	if field != "" {
		begun[field] = ""
	}
	if err := s.at("response.output_item.added", object{"item": begun}); err != nil {
		return err
	}
	if field != "" {
		prefix := map[string]string{"arguments": "response.function_call_arguments", "input": "response.custom_tool_call_input"}[field]
		if err := s.at(prefix+".delta", object{"item_id": item["id"], "delta": item[field]}); err != nil {
			return err
		}
		if err := s.at(prefix+".done", object{"item_id": item["id"], field: item[field]}); err != nil {
			return err
		}
	}
	return s.finish(item)
}

func responsesCall(a *answer, c *toolCall) object {
	switch c.kind {
	case "custom":
		return object{"type": "custom_tool_call", "id": a.id("ctc_"), "call_id": a.id("call_"), "name": c.name, "input": c.input, "status": "completed"}
	case "local_shell":
		return object{"type": "local_shell_call", "id": a.id("lsc_"), "call_id": a.id("call_"), "status": "completed", "action": c.args}
	}
	return object{"type": "function_call", "id": a.id("fc_"), "call_id": a.id("call_"), "name": c.name, "arguments": encode(c.args), "status": "completed"}
}

func (s *responsesStream) plain() error {
	whole, calls, err := s.a.plain()
	if err != nil {
		return err
	}
	if whole != "" {
		s.output = append(s.output, object{"type": "message", "id": s.a.id("msg_"), "role": "assistant", "status": "completed", "content": []any{textPart(whole)}})
	}
	for _, c := range calls {
		s.output = append(s.output, responsesCall(s.a, c))
	}
	return writeJSON(s.a.w, http.StatusOK, s.completed())
}

func textPart(t string) object {
	return object{"type": "output_text", "text": t, "annotations": []any{}}
}

func summaryPart(t string) object { return object{"type": "summary_text", "text": t} }
