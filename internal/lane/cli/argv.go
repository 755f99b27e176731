package cli

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/internal/lane/template"
	"dragoman/wire/agent"
)

const stageArgs = "cli/args"

// maxArgPrompt is the longest prompt in bytes that goes into argv, which has
// a limit of its own (lanes.md §9).
const maxArgPrompt = 100 << 10

// A call is one start of the agent: its arguments and what stdin gets.
type call struct {
	args []string
	// stdin is what is written; nil for no prompt on stdin.
	stdin []byte
}

// input is what a turn's call is made of.
type input struct {
	prompt  string
	dir     string
	binding string // "" without one
	options agent.Options
}

// turnArgs are a turn's arguments, not expanded: those before its template,
// whether they are expanded, and the template.
func (p *spec) turnArgs(bound bool) (before []string, expand bool, tmpl []string) {
	switch {
	case !bound:
		return p.command.Args, false, p.args
	case len(p.resumeSpawnArgs) > 0:
		return p.resumeSpawnArgs, true, p.resumeArgs
	}
	return p.command.Args, false, slices.Concat(p.args, p.resumeArgs)
}

// turnCall makes the call of one turn.
func (p *spec) turnCall(in input) (call, error) {
	before, expand, tmpl := p.turnArgs(in.binding != "")
	stdin := p.promptOnStdin(tmpl)
	inArgs := template.ArgsHold(tmpl, template.Prompt)
	if p.promptChannel == argOnly && !inArgs {
		return call{}, agent.Fail(agent.CodePromptChannelUnsatisfied, stageArgs, "the prompt goes into the arguments, which don't hold {prompt}")
	}
	long := inArgs && len(in.prompt) > maxArgPrompt
	if long && p.promptChannel == argOnly {
		return call{}, agent.Fail(agent.CodePromptChannelUnsatisfied, stageArgs,
			fmt.Sprintf("a prompt of %d bytes is over the limit of %d for an argument, and this agent reads none from stdin", len(in.prompt), maxArgPrompt))
	}
	stdin = stdin || long
	v := template.Values{template.Prompt: in.prompt, template.Cwd: in.dir}
	v.SetSome(template.Mode, in.options.Mode)
	v.SetSome(template.Permission, in.options.Permission)
	if in.binding != "" {
		v[template.SessionID] = in.binding
	}
	hasEffort := template.ArgsHold(tmpl, template.Effort) || expand && template.ArgsHold(before, template.Effort) ||
		stdin && p.stdinTemplate != nil && template.JSONHolds(p.stdinTemplate, template.Effort)
	if err := p.setEffort(v, in.options.Model, in.options.Effort, hasEffort); err != nil {
		return call{}, err
	}
	var c call
	if stdin {
		c.stdin = p.stdinOf(v)
	}
	if long {
		delete(v, template.Prompt)
	}
	if expand {
		before = v.Args(before)
	}
	c.args = slices.Concat(before, v.Args(tmpl))
	return c, nil
}

// stdinOf is what stdin gets: the prompt or the template, and an LF.
func (p *spec) stdinOf(v template.Values) []byte {
	if p.stdinTemplate == nil {
		prompt := v[template.Prompt]
		if !strings.HasSuffix(prompt, "\n") {
			prompt += "\n"
		}
		return []byte(prompt)
	}
	line, err := v.StdinJSON(p.stdinTemplate)
	if err != nil { // it was parsed as a part of the spec
		line = []byte("null")
	}
	return append(line, '\n')
}

// openCall makes the call of openArgs, where only {cwd} and an empty prompt
// are known.
func (p *spec) openCall(dir string) call {
	v := template.Values{template.Prompt: "", template.Cwd: dir}
	return call{args: slices.Concat(p.command.Args, v.Args(p.openArgs))}
}
