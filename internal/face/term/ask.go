package term

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/wire/agent"
)

// Policy says who answers a permission question (cli.md, --ask).
type Policy string

// The policies. No policy ever picks an option that holds beyond this call.
const (
	PolicyAsk        Policy = "ask"
	PolicyDeny       Policy = "deny"
	PolicyAllowReads Policy = "allow-reads"
	PolicyAllowAll   Policy = "allow-all"
)

// Policies lists them for help and checks.
var Policies = []Policy{PolicyAsk, PolicyDeny, PolicyAllowReads, PolicyAllowAll}

// readKinds are the tool kinds that change nothing.
var readKinds = []string{"read", "search", "think"}

// A Person reads one line of an answer. It returns an error when nobody can
// answer or ctx ends.
type Person interface {
	ReadLine(ctx context.Context, prompt string) (string, error)
}

// Ask answers a question by the policy (session.Host).
func (h *Host) Ask(ctx context.Context, q *agent.Question) agent.Answer {
	h.asking.Lock()
	defer h.asking.Unlock()
	answer := h.decide(ctx, q)
	if !allows(q, answer) && ctx.Err() == nil {
		h.mu.Lock()
		h.refusals++
		h.mu.Unlock()
	}
	return answer
}

func (h *Host) decide(ctx context.Context, q *agent.Question) agent.Answer {
	switch h.Policy {
	case PolicyAllowAll:
		return pick(q, agent.AllowOnce)
	case PolicyAllowReads:
		if slices.Contains(readKinds, q.ToolCall.Kind) {
			return pick(q, agent.AllowOnce)
		}
	case PolicyAsk:
		if h.Person != nil {
			return h.askPerson(ctx, q)
		}
	}
	h.mu.Lock()
	h.note("refused: %s", toolTitle(&q.ToolCall))
	h.mu.Unlock()
	return pick(q, agent.RejectOnce)
}

// pick chooses the first option of a kind; cancelled when none has it.
func pick(q *agent.Question, kind string) agent.Answer {
	for _, o := range q.Options {
		if o.Kind == kind {
			return agent.Answer{OptionID: o.ID}
		}
	}
	return agent.Answer{}
}

func allows(q *agent.Question, a agent.Answer) bool {
	for _, o := range q.Options {
		if o.ID == a.OptionID {
			return o.Kind == agent.AllowOnce || o.Kind == agent.AllowAlways
		}
	}
	return false
}

// maxTries bounds how often a person may mistype.
const maxTries = 3

func (h *Host) askPerson(ctx context.Context, q *agent.Question) agent.Answer {
	h.mu.Lock()
	h.note("%s", describe(q))
	for i, o := range q.Options {
		h.note("  %d  %s%s", i+1, o.Name, thenWord(o))
	}
	h.mu.Unlock()
	for range maxTries {
		line, err := h.Person.ReadLine(ctx, fmt.Sprintf("choose 1-%d, or nothing to cancel: ", len(q.Options)))
		if err != nil {
			return agent.Answer{}
		}
		line = strings.TrimSpace(line)
		if line == "" {
			return agent.Answer{}
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Options) {
			return agent.Answer{OptionID: q.Options[n-1].ID}
		}
		h.mu.Lock()
		h.note("%q is none of them", line)
		h.mu.Unlock()
	}
	return agent.Answer{}
}

// describe says what a yes would let happen.
func describe(q *agent.Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the agent asks: %s", toolTitle(&q.ToolCall))
	if c := q.ToolCall; c.Shell != "" && c.Shell != c.Title {
		fmt.Fprintf(&b, "\n  command: %s", c.Shell)
	}
	for _, l := range q.ToolCall.Locations {
		fmt.Fprintf(&b, "\n  file: %s", l.Path)
	}
	for _, c := range q.ToolCall.Content {
		switch c.Type {
		case "text":
			fmt.Fprintf(&b, "\n  %s", strings.ReplaceAll(strings.TrimRight(c.Text, "\n"), "\n", "\n  "))
		case "diff":
			fmt.Fprintf(&b, "\n  changes %s", c.Path)
		}
	}
	return b.String()
}

func thenWord(o agent.Option) string {
	if o.Then == agent.ThenEndsTurn {
		return " (ends the turn)"
	}
	return ""
}
