package testmodel

import "net/http"

// writeAnthropic answers in the dialect of Anthropic's Messages.
func writeAnthropic(a *answer) error {
	id := a.id("msg_")
	usage := object{"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 1}
	message := object{"id": id, "type": "message", "role": "assistant", "model": a.prompt.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if !a.prompt.stream {
		return anthropicPlain(a, message, usage)
	}
	a.begin()
	s := &anthropicStream{a: a, index: -1, stop: "end_turn"}
	if err := s.send("message_start", object{"message": message}); err != nil {
		return err
	}
	if err := s.send("ping", object{}); err != nil {
		return err
	}
	for _, step := range a.steps {
		if err := s.step(step); err != nil {
			return err
		}
	}
	if err := s.closeBlock(); err != nil {
		return err
	}
	end := object{"delta": object{"stop_reason": s.stop, "stop_sequence": nil}, "usage": object{"output_tokens": 30}}
	if err := s.send("message_delta", end); err != nil {
		return err
	}
	return s.send("message_stop", object{})
}

// anthropicStream keeps which content block is open.
type anthropicStream struct {
	a     *answer
	index int
	open  bool
	kind  stepKind
	stop  string
}

func (s *anthropicStream) send(kind string, o object) error {
	o["type"] = kind
	return s.a.event(kind, o)
}

func (s *anthropicStream) delta(d object) error {
	return s.send("content_block_delta", object{"index": s.index, "delta": d})
}

func (s *anthropicStream) openBlock(kind stepKind, block object) error {
	if s.open && s.kind == kind && kind != stepCall {
		return nil
	}
	if err := s.closeBlock(); err != nil {
		return err
	}
	s.index++
	s.open, s.kind = true, kind
	return s.send("content_block_start", object{"index": s.index, "content_block": block})
}

func (s *anthropicStream) closeBlock() error {
	if !s.open {
		return nil
	}
	s.open = false
	if s.kind == stepThink {
		if err := s.delta(object{"type": "signature_delta", "signature": "bW9jaw=="}); err != nil {
			return err
		}
	}
	return s.send("content_block_stop", object{"index": s.index})
}

func (s *anthropicStream) step(st step) error {
	if done, err := s.a.aside(st); done || err != nil {
		return err
	}
	switch st.kind {
	case stepText:
		if err := s.openBlock(stepText, object{"type": "text", "text": ""}); err != nil {
			return err
		}
		return s.delta(object{"type": "text_delta", "text": st.text})
	case stepThink:
		if err := s.openBlock(stepThink, object{"type": "thinking", "thinking": "", "signature": ""}); err != nil {
			return err
		}
		return s.delta(object{"type": "thinking_delta", "thinking": st.text})
	}
	s.stop = "tool_use"
	if err := s.openBlock(stepCall, object{"type": "tool_use", "id": s.a.id("toolu_"), "name": st.call.name, "input": object{}}); err != nil {
		return err
	}
	for _, part := range halves(st.call.args) {
		if err := s.delta(object{"type": "input_json_delta", "partial_json": part}); err != nil {
			return err
		}
	}
	return s.closeBlock()
}

func anthropicPlain(a *answer, message, usage object) error {
	whole, calls, err := a.plain()
	if err != nil {
		return err
	}
	content := []any{}
	if whole != "" {
		content = append(content, object{"type": "text", "text": whole})
	}
	message["stop_reason"] = "end_turn"
	for _, c := range calls {
		message["stop_reason"] = "tool_use"
		content = append(content, object{"type": "tool_use", "id": a.id("toolu_"), "name": c.name, "input": c.args})
	}
	message["content"] = content
	usage["output_tokens"] = 30
	return writeJSON(a.w, http.StatusOK, message)
}
