package app

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"dragoman/wire/agent"
)

// endLine is the last line of `run --json`: an outcome or an error.
type endLine struct {
	Outcome *endOutcome `json:"outcome,omitzero"`
	Error   *endError   `json:"error,omitzero"`
}

type endOutcome struct {
	StopReason string       `json:"stopReason"`
	Text       string       `json:"text"`
	Truncated  bool         `json:"truncated"`
	ExitCode   *int         `json:"exitCode"`
	Usage      *agent.Usage `json:"usage"`
	Suspect    string       `json:"suspect,omitzero"`
}

type endError struct {
	Code            string `json:"code"`
	Stage           string `json:"stage"`
	Retryable       bool   `json:"retryable"`
	UncertainEffect bool   `json:"uncertainEffect"`
	Message         string `json:"message"`
}

// printEnd writes the last line.
func (r *runner) printEnd(out agent.Outcome, err error) {
	if out.Text == "" {
		out.Text = r.host.Said() // lanes.md §1: the text is the chunks'
	}
	line := endLine{Outcome: &endOutcome{out.StopReason, out.Text, out.Truncated, out.ExitCode, out.Usage, out.Suspect}}
	if err != nil {
		line = endLine{Error: &endError{Code: "invalid", Stage: agent.StageOpen, Message: err.Error()}}
		var failed *agent.Error
		if errors.As(err, &failed) {
			line.Error = &endError{failed.Code, failed.Stage, failed.Retryable, failed.UncertainEffect, failed.Error()}
		}
	}
	b, err := json.Marshal(line)
	if err != nil {
		panic(err) // our own types always marshal
	}
	fmt.Fprintf(r.e.Out, "%s\n", b)
}
