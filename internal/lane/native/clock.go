package native

import (
	"context"
	"fmt"
	"time"

	"dragoman/wire/agent"
)

// A ClockError says which clock ran out.
type ClockError struct {
	What  string
	Limit time.Duration
}

func (e *ClockError) Error() string { return fmt.Sprintf("%s took more than %v", e.What, e.Limit) }

// Within is ctx with a limit, none for 0; its cause is a [*ClockError].
func Within(ctx context.Context, what string, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, &ClockError{what, limit})
}

// OpenError makes an [*agent.Error] of what ended an open.
func OpenError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(*agent.Error); ok {
		return err
	}
	return agent.Fail(agent.CodeProtocolFailed, agent.StageOpen, err.Error())
}
