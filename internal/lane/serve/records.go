package serve

import (
	"strconv"
	"strings"

	"dragoman/internal/lane/usage"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// Types of records.
const (
	typeUser      = "user"
	typeAssistant = "assistant"
	typeIdle      = "idle"
)

const outcomeSucceeded = "succeeded"

// sentPrompt is what the server says of a prompt it took: the record's id
// and time.
type sentPrompt struct {
	id      string
	created int64
}

// readSent reads the reply to a prompt.
func readSent(data []byte) (sentPrompt, bool) {
	created, ok := number(data, "time", "created")
	return sentPrompt{id: text(data, "id"), created: created}, ok
}

// finished is what the records say of a turn.
type finished struct {
	idle      bool // the turn has ended
	succeeded bool
	errorType string
	errorText string
	text      string
	usage     *agent.Usage
}

// readTurn reads the records of a turn out of a session's, newest first: from
// the newest to its own prompt's, and none from before its time.
func readTurn(data []byte, sent sentPrompt) (finished, bool) {
	list, ok := agent.SplitArray(data)
	if !ok {
		return finished{}, false
	}
	var f finished
	var texts []string
	for _, record := range list {
		if sent.id != "" && text(record, "type") == typeUser && text(record, "id") == sent.id {
			break
		}
		if created, ok := number(record, "time", "created"); !ok || created < sent.created {
			continue
		}
		switch text(record, "type") {
		case typeIdle:
			f.takeIdle(record)
		case typeAssistant:
			texts = append(texts, contentText(record))
			f.usage = usage.Add(f.usage, readTokens(record))
		}
	}
	for i := len(texts) - 1; i >= 0; i-- {
		f.text += texts[i]
	}
	return f, true
}

// takeIdle takes the newest idle record, which comes first.
func (f *finished) takeIdle(record []byte) {
	if f.idle {
		return
	}
	f.idle = true
	f.succeeded = text(record, "outcome") == outcomeSucceeded
	f.errorType, f.errorText = text(record, "error", "type"), text(record, "error", "message")
	if f.errorText == "" {
		f.errorText = "the turn ended as " + text(record, "outcome")
	}
}

// failure is the error of a turn that didn't succeed.
func (f finished) failure() *agent.Error {
	if f.errorType == "provider.quota" || agent.Quota(f.errorText) {
		certainty := agent.Certain
		if f.text != "" || !f.usage.Zero() {
			certainty = agent.Uncertain
		}
		return agent.FailQuota(agent.StagePrompt, f.errorText, certainty)
	}
	return agent.FailFlags(agent.CodeProtocolFailed, agent.StagePrompt, f.errorText, agent.FlagsFinal)
}

// contentText joins the text blocks of a record.
func contentText(record []byte) string {
	raw, _, _ := ndjson.Get(record, "content")
	blocks, _ := agent.SplitArray(raw)
	var b strings.Builder
	for _, block := range blocks {
		if text(block, "type") == "text" {
			b.WriteString(text(block, "text"))
		}
	}
	return b.String()
}

// readTokens reads a record's token counts; nil if it has none.
func readTokens(record []byte) *agent.Usage {
	count := func(path ...string) *int64 {
		n, ok := number(record, append([]string{"tokens"}, path...)...)
		if !ok || n < 0 {
			return nil
		}
		return &n
	}
	u := agent.Usage{
		Input: count("input"), Output: count("output"), Thought: count("reasoning"),
		CachedInput: count("cache", "read"), CachedWrite: count("cache", "write"), Total: count("total"),
	}
	if u == (agent.Usage{}) {
		return nil
	}
	return &u
}

func text(value []byte, path ...string) string {
	raw, _, _ := ndjson.Get(value, path...)
	s, _ := agent.String(raw)
	return s
}

func number(value []byte, path ...string) (int64, bool) {
	raw, kind, ok := ndjson.Get(value, path...)
	if !ok || kind != ndjson.Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(raw), 64)
		return int64(f), err == nil
	}
	return n, true
}
