package testmodel

import "net/http"

// writeGemini answers in Gemini's generateContent dialect.
func writeGemini(a *answer) error {
	if !a.prompt.stream {
		return geminiPlain(a)
	}
	a.begin()
	for _, s := range a.steps {
		done, err := a.aside(s)
		if !done && err == nil {
			err = a.event("", geminiReply(a, []any{geminiPart(a, s)}, ""))
		}
		if err != nil {
			return err
		}
	}
	return a.event("", geminiReply(a, []any{object{"text": ""}}, "STOP"))
}

func geminiPart(a *answer, s step) object {
	switch s.kind {
	case stepThink:
		return object{"text": s.text, "thought": true}
	case stepCall:
		return object{"functionCall": object{"id": a.id("fc_"), "name": s.call.name, "args": s.call.args}, "thoughtSignature": "bW9jaw=="}
	}
	return object{"text": s.text}
}

func geminiReply(a *answer, parts []any, finish string) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return object{"candidates": []any{candidate}, "modelVersion": a.prompt.model, "responseId": a.id("r"),
		"usageMetadata": object{"promptTokenCount": 120, "candidatesTokenCount": 30, "totalTokenCount": 150}}
}

// geminiPlain also serves the CLI's own router, which asks for JSON of a
// schema before each turn.
func geminiPlain(a *answer) error {
	config := obj(a.body["generationConfig"])
	if str(config["responseMimeType"]) == "application/json" && len(a.prompt.tools) == 0 {
		schema := obj(config["responseJsonSchema"])
		if schema == nil {
			schema = obj(config["responseSchema"])
		}
		made := fill(schema, func(string, object) (any, bool) { return nil, false })
		return writeJSON(a.w, http.StatusOK, geminiReply(a, []any{object{"text": encode(made)}}, "STOP"))
	}
	parts := []any{}
	for _, s := range a.steps {
		done, err := a.aside(s)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		part := geminiPart(a, s)
		if n := len(parts); n > 0 && s.kind == stepText && parts[n-1].(object)["thought"] == nil && parts[n-1].(object)["text"] != nil {
			part["text"] = parts[n-1].(object)["text"].(string) + s.text
			parts = parts[:n-1]
		}
		parts = append(parts, part)
	}
	return writeJSON(a.w, http.StatusOK, geminiReply(a, parts, "STOP"))
}
