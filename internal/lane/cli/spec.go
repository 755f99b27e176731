package cli

import (
	"dragoman/internal/lane"
	"dragoman/internal/lane/jsonpath"
	"dragoman/internal/lane/selector"
	"dragoman/internal/lane/template"
	"dragoman/wire/agent"
)

// Driver is the lane cli.
type Driver struct{}

// How the prompt reaches the agent.
const (
	argOrStdin = "arg-or-stdin"
	onStdin    = "stdin"
	argOnly    = "arg-only"
)

// Members of bindingReceiptShape.
const (
	receiptID      = "session-id"
	receiptIDUsage = "session-id-and-usage"
)

// spec is a declared agent, in the order of sidecar.md §6.
type spec struct {
	command agent.Command
	max     *int64

	args            []string
	promptChannel   string
	pty             bool
	resumeArgs      []string
	resumeSpawnArgs []string
	stdinTemplate   []byte // JSON; nil when absent
	jsonLines       bool
	sessionIDPath   jsonpath.Path
	usagePath       jsonpath.Path
	openArgs        []string
	bindingFileEnv  string
	receiptUsage    bool
	result          resultRule
	modes           []string
	permissions     []string
	effortSuffixes  []string
	mcpServers      int
}

// resultRule says which records hold the turn's text.
type resultRule struct {
	on    bool
	field string // at the top of a record
	value string // that field's
	path  jsonpath.Path
}

// Parse reads a cli spec. Unknown members are errors.
func (Driver) Parse(s *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(s)
	p := &spec{
		command:         s.Command,
		max:             s.MaxOutputBytes,
		args:            f.Strings("args"),
		promptChannel:   f.Word("promptChannel", argOrStdin, onStdin, argOnly),
		pty:             f.Word("stream", "stdio", "pty") == "pty",
		resumeArgs:      f.Strings("resumeArgs"),
		resumeSpawnArgs: f.Strings("resumeSpawnArgs"),
		stdinTemplate:   f.Raw("stdinTemplate"),
		jsonLines:       f.Bool("jsonLines"),
		sessionIDPath:   jsonpath.Parse(f.Str("sessionIdPath")),
		usagePath:       jsonpath.Parse(f.Str("usagePath")),
		openArgs:        f.Strings("openArgs"),
		bindingFileEnv:  f.Str("bindingFileEnv"),
		receiptUsage:    f.Word("bindingReceiptShape", receiptID, receiptIDUsage) == receiptIDUsage,
		modes:           f.Strings("executionModes"),
		permissions:     f.Strings("permissionModes"),
		effortSuffixes:  f.Strings("effortModelSuffixes"),
		mcpServers:      len(f.List("mcpServers")),
	}
	p.result.value, p.result.on = f.StrOK("resultSelector")
	p.result.field = "type"
	if field, ok := f.StrOK("resultSelectorField"); ok {
		p.result.field = field
	}
	p.result.path = jsonpath.Parse(f.Str("resultPath"))
	if err := f.Close(); err != nil {
		return nil, err
	}
	return p, nil
}

// CheckEnv finds nothing: no member of a cli spec touches the policy.
func (p *spec) CheckEnv() error { return nil }

// resumes reports whether a session can be resumed.
func (p *spec) resumes() bool {
	return len(p.resumeArgs) > 0 || len(p.resumeSpawnArgs) > 0 || template.ArgsHold(p.args, template.SessionID)
}

// holds reports whether a placeholder stands where a selector counts: in
// args, or in a stdinTemplate that is used, judged by args.
func (p *spec) holds(placeholders ...string) bool {
	return template.ArgsHold(p.args, placeholders...) ||
		p.templateUsed(p.args) && template.JSONHolds(p.stdinTemplate, placeholders...)
}

// templateUsed reports whether a turn with these arguments sends the
// stdinTemplate.
func (p *spec) templateUsed(args []string) bool {
	return p.stdinTemplate != nil && p.promptOnStdin(args)
}

func (p *spec) promptOnStdin(args []string) bool {
	switch p.promptChannel {
	case onStdin:
		return true
	case argOnly:
		return false
	}
	return !template.ArgsHold(args, template.Prompt)
}

func (p *spec) support() selector.Support {
	model := p.holds(template.Model, template.ModelProvider, template.ModelID)
	return selector.Support{
		Model:      model,
		Effort:     p.holds(template.Effort) || model && len(p.effortSuffixes) > 0,
		Mode:       p.holds(template.Mode),
		Permission: p.holds(template.Permission),
	}
}
