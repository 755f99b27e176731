package testmodel

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stepKind is what one step of a script does.
type stepKind int

const (
	stepText stepKind = iota
	stepThink
	stepCall
	stepSleep
	stepStatus // answer with an HTTP status instead of a stream
	stepCut    // break the connection
	stepBad    // a broken server-sent event
)

// A step is one thing that the model does. Only the members of its kind
// count.
type step struct {
	kind   stepKind
	text   string
	call   *toolCall
	pause  time.Duration
	status int
}

func text(s string) step  { return step{kind: stepText, text: s} }
func think(s string) step { return step{kind: stepThink, text: s} }
func sleep(d time.Duration) step {
	return step{kind: stepSleep, pause: d}
}

// A script makes the steps of one answer. It is called anew for each request
// of a turn; p tells what has happened so far.
type script func(p *prompt) []step

// SlowCommand runs for a minute without being a bare sleep, which some
// agents refuse.
const SlowCommand = `python3 -c "import time; time.sleep(60) # sleep 60"`

const defaultCommand = "echo hello-from-tool > tool-out.txt; cat tool-out.txt"

// scripts are the words that SCENARIO= may name, beside errNNN.
var scripts = map[string]script{
	"text":      textScript,
	"think":     fixed(think("Let me think. "), think("Thought done."), text("The answer is 42.")),
	"long":      longScript,
	"bigline":   func(*prompt) []step { return []step{text(strings.Repeat("x", 300_000))} },
	"unicode":   fixed(text("sep\u2028line \u2029para \U0001F600 tab\tcr\r\nquote\" back\\slash \u001b[31mansi\u001b[0m")),
	"empty":     fixed(),
	"hang":      fixed(sleep(120*time.Second), text("late")),
	"cut":       fixed(text("partial "), text("answer"), sleep(200*time.Millisecond), step{kind: stepCut}),
	"badsse":    fixed(text("before "), step{kind: stepBad}, text("after")),
	"slow":      slowScript,
	"tool":      shellScript(func(p *prompt) string { return or(p.command, defaultCommand) }),
	"toolfail":  shellScript(func(*prompt) string { return "echo to-stderr >&2; exit 3" }),
	"bigtool":   shellScript(func(*prompt) string { return "seq 1 50000" }),
	"slowtool":  shellScript(func(p *prompt) string { return or(p.command, "sleep 60") }),
	"slowtool2": shellScript(func(*prompt) string { return SlowCommand }),
	"two":       twoScript,
	"steps":     stepsScript,
	"edit":      editScript,
	"read":      readScript,
}

var statusWord = regexp.MustCompile(`^err(\d{3})$`)

// steps returns the answer to p. flaky counts how often the same prompt came
// before.
func steps(p *prompt, before int) []step {
	if m := statusWord.FindStringSubmatch(p.scenario); m != nil {
		code, _ := strconv.Atoi(m[1])
		return []step{{kind: stepStatus, status: code}}
	}
	if p.scenario == "flaky" {
		if before < 2 {
			return []step{{kind: stepStatus, status: 500}}
		}
		return []step{text("Recovered after retries.")}
	}
	if len(p.tools) == 0 {
		return []step{text("Mock title")}
	}
	s, ok := scripts[p.scenario]
	if !ok {
		s = textScript
	}
	return s(p)
}

func fixed(s ...step) script { return func(*prompt) []step { return s } }

func textScript(p *prompt) []step {
	return []step{text("Hello "), text("from "), text("the mock. "), text(fmt.Sprintf("Turns seen: %d.", p.turns))}
}

func longScript(*prompt) []step {
	var out []step
	for i := range 1200 {
		out = append(out, text(fmt.Sprintf("Line %d of a long answer, with some filler text.\n", i)))
	}
	return out
}

func slowScript(*prompt) []step {
	var out []step
	for i := range 120 {
		out = append(out, text(fmt.Sprintf("word%d ", i)), sleep(500*time.Millisecond))
	}
	return out
}

// shellScript calls a shell tool once and then reports what it said.
func shellScript(command func(*prompt) string) script {
	return func(p *prompt) []step {
		if len(p.results) > 0 {
			return report(p)
		}
		return calls(p, "I will use a tool. ", p.shellCall(command(p)))
	}
}

func twoScript(p *prompt) []step {
	if len(p.results) > 0 {
		return report(p)
	}
	return calls(p, "Two tools. ", p.shellCall("echo one"), p.shellCall("echo two"))
}

func stepsScript(p *prompt) []step {
	if n := len(p.results); n < 3 {
		return calls(p, "Next step. ", p.shellCall(fmt.Sprintf("echo step-%d", n+1)))
	}
	return report(p)
}

func editScript(p *prompt) []step {
	if len(p.results) > 0 {
		return report(p)
	}
	return calls(p, "I will edit. ", p.writeCall(or(p.file, "mock-edit.txt"), "written by mock"))
}

func readScript(p *prompt) []step {
	if len(p.results) > 0 {
		return report(p)
	}
	return calls(p, "I will read. ", p.readCall(or(p.file, "README.md")))
}

// calls makes one answer of tool calls; a nil call means that the agent
// offered no tool for it, which the answer then says.
func calls(p *prompt, lead string, wanted ...*toolCall) []step {
	out := []step{text(lead)}
	for _, c := range wanted {
		if c == nil {
			return []step{text("No usable tool was offered: " + strings.Join(p.toolNames(), ", "))}
		}
		out = append(out, step{kind: stepCall, call: c})
	}
	return out
}

func report(p *prompt) []step {
	last := strings.TrimSpace(p.results[len(p.results)-1])
	if len(last) > 200 {
		last = strings.ToValidUTF8(last[len(last)-200:], "")
	}
	return []step{text("Tool said: "), text(last), text("\nDone.")}
}

func or(s, fallback string) string {
	if s != "" {
		return s
	}
	return fallback
}
