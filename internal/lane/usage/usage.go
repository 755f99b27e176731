// Package usage reads token counts that agents report under many names
// (sidecar.md §7).
package usage

import (
	"strconv"

	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// The names of each count, the first that is there counts.
var (
	input       = []string{"input", "input_tokens", "inputTokens", "prompt_tokens", "promptTokens"}
	cachedInput = []string{
		"cacheRead", "cached_input_tokens", "cachedInputTokens", "cache_read_input_tokens",
		"cacheReadInputTokens", "cache_read_tokens",
	}
	cachedWrite = []string{"cacheWrite", "cached_write_tokens", "cachedWriteTokens", "cache_write_tokens"}
	output      = []string{"output", "output_tokens", "outputTokens", "completion_tokens", "completionTokens"}
	thought     = []string{"thought_tokens", "thoughtTokens", "reasoning_tokens"}
	total       = []string{"total_tokens", "totalTokens"}
)

// Read returns the counts of record, an object in valid JSON; nil if it has
// none that is known. A count that isn't an integer from 0 is unknown.
func Read(record []byte) *agent.Usage {
	members, err := ndjson.Members(record)
	if err != nil {
		return nil
	}
	r := reader{record: record, members: members}
	u := agent.Usage{
		Input: r.count(input), CachedInput: r.count(cachedInput), CachedWrite: r.count(cachedWrite),
		Output: r.count(output), Thought: r.count(thought), Total: r.count(total),
	}
	if u == (agent.Usage{}) {
		return nil
	}
	return &u
}

type reader struct {
	record  []byte
	members []ndjson.Member
}

func (r reader) count(names []string) *int64 {
	for _, name := range names {
		for _, m := range r.members {
			if m.Kind != ndjson.Number || string(m.Key) != name {
				continue
			}
			if n, err := strconv.ParseInt(string(m.Value.Of(r.record)), 10, 64); err == nil && n >= 0 {
				return &n
			}
		}
	}
	return nil
}

// Add adds what is known of two parts of one turn; either may be nil.
func Add(a, b *agent.Usage) *agent.Usage {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &agent.Usage{
		Input: add(a.Input, b.Input), CachedInput: add(a.CachedInput, b.CachedInput),
		CachedWrite: add(a.CachedWrite, b.CachedWrite), Output: add(a.Output, b.Output),
		Thought: add(a.Thought, b.Thought), Total: add(a.Total, b.Total),
	}
}

func add(x, y *int64) *int64 {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	sum := *x + *y
	return &sum
}
