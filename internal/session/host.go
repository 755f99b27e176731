package session

import (
	"context"

	"dragoman/wire/agent"
)

// A Host is told what happens in one session: a face.
type Host interface {
	// Event takes one event, stamped. It is called by one goroutine at a
	// time, in the agent's order, and all of a turn's events before the turn
	// settles. It blocks while the host's side doesn't read, which holds back
	// the agent, and returns early when ctx ends. ev is not changed
	// afterwards.
	Event(ctx context.Context, ev *agent.Event)
	// Ask puts a question and waits for the answer. It returns cancelled
	// when ctx ends: the turn was cancelled, ended, or the session closes.
	// Answers that weren't offered count as cancelled.
	Ask(ctx context.Context, q *agent.Question) agent.Answer
	// Changed says that the session's state or info changed. It must not
	// block or call back into the session's methods that wait.
	Changed()
}
