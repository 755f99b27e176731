package envelope

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"dragoman/envelope/agent"
	"dragoman/wire/envelope"
	"dragoman/wire/op"
)

// failure is a core error as the host gets it: codes in upper case,
// agent_error as the code within.
func failure(err error) error {
	var e *op.Error
	if !errors.As(err, &e) {
		return err
	}
	out := &agent.Error{Code: strings.ToUpper(string(e.Code)), Message: e.Message}
	switch e.Code {
	case op.CodeCancelled:
		return agent.ErrCancelled
	case op.CodeAgent:
		if inner, ok := e.Data["code"].(string); ok {
			out.Code = strings.ToUpper(inner)
		}
		out.Retryable, _ = e.Data["retryable"].(bool)
	case op.CodeBusy, op.CodeOverloaded:
		out.Retryable = true
	}
	return out
}

// readError is the error of run.ended.
func readError(raw []byte) error {
	var e op.Error
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	return &e
}

func badRequest(detail string) error { return &agent.Error{Code: "BAD_REQUEST", Message: detail} }

// tooLarge reports whether an event broke the budgets of our output.
func tooLarge(err error) bool {
	var wrong *envelope.Error
	return errors.As(err, &wrong) && (wrong.Code == envelope.LineTooLarge || wrong.Code == envelope.BudgetExceeded)
}

// errLost fails requests whose core is gone.
var errLost = &agent.Error{Code: "INTERNAL", Message: "the core has ended"}

// detached is ctx without its end, for what must be said all the same.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), partingWait)
}
