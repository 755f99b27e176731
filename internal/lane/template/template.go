// Package template expands the placeholders of declared agents: {prompt},
// {model} and their kind, in argument lists and in JSON (sidecar.md §6, §7).
//
// Every text is read once, from left to right. What is put in is never looked
// at again, so a prompt that spells a placeholder stays what it is.
package template

import (
	"slices"
	"strings"
)

// The names of placeholders. Any other name in braces is ordinary text.
const (
	Prompt        = "prompt"
	Model         = "model"
	ModelProvider = "modelProvider"
	ModelID       = "modelId"
	Effort        = "effort"
	Mode          = "mode"
	Permission    = "permission"
	Instructions  = "instructions"
	Provider      = "provider"
	SessionID     = "sessionId"
	TurnID        = "turnId"
	Cwd           = "cwd"
)

var names = []string{
	Prompt, Model, ModelProvider, ModelID, Effort, Mode, Permission,
	Instructions, Provider, SessionID, TurnID, Cwd,
}

// Values holds what the placeholders stand for. A name without an entry is
// absent, which isn't the same as an empty text.
type Values map[string]string

// SetModel sets {model}, and {modelProvider} and {modelId} by splitting it at
// its first slash; without one there is no provider.
func (v Values) SetModel(model string) {
	v[Model] = model
	provider, id, ok := strings.Cut(model, "/")
	if !ok {
		v[ModelID] = model
		delete(v, ModelProvider)
		return
	}
	v[ModelProvider], v[ModelID] = provider, id
}

// SetSome sets name where value isn't nil.
func (v Values) SetSome(name string, value *string) {
	if value != nil {
		v[name] = *value
	}
}

// sole returns the placeholder's name if text is nothing but one.
func sole(text string) (name string, ok bool) {
	if len(text) < 3 || text[0] != '{' || text[len(text)-1] != '}' {
		return "", false
	}
	name = text[1 : len(text)-1]
	return name, slices.Contains(names, name)
}

// absentSole reports whether text is one absent placeholder and nothing else.
func (v Values) absentSole(text string) bool {
	name, ok := sole(text)
	if !ok {
		return false
	}
	_, present := v[name]
	return !present
}

// next cuts text at its first placeholder: the text before it, its name, and
// the text behind it. ok is false when there is none.
func next(text string) (before, name, after string, ok bool) {
	for from := 0; ; {
		open := strings.IndexByte(text[from:], '{')
		if open < 0 {
			return text, "", "", false
		}
		open += from
		rest := text[open+1:]
		for _, n := range names {
			if len(rest) > len(n) && rest[len(n)] == '}' && rest[:len(n)] == n {
				return text[:open], n, rest[len(n)+1:], true
			}
		}
		from = open + 1
	}
}

// Holds reports whether one of placeholders stands in text.
func Holds(text string, placeholders ...string) bool {
	for {
		_, name, after, ok := next(text)
		if !ok {
			return false
		}
		if slices.Contains(placeholders, name) {
			return true
		}
		text = after
	}
}

// ArgsHold reports whether one of placeholders stands in args.
func ArgsHold(args []string, placeholders ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return Holds(a, placeholders...) })
}

// absence says what an absent placeholder becomes inside longer text.
type absence func(name string) string

func absentEmpty(string) string { return "" }

// absentInArg: an id that isn't known stays literal in an argument.
func absentInArg(name string) string {
	if name == SessionID || name == TurnID {
		return "{" + name + "}"
	}
	return ""
}

func (v Values) expand(text string, absent absence) string {
	before, name, after, ok := next(text)
	if !ok {
		return text
	}
	var b strings.Builder
	for ok {
		b.WriteString(before)
		if value, present := v[name]; present {
			b.WriteString(value)
		} else {
			b.WriteString(absent(name))
		}
		before, name, after, ok = next(after)
	}
	b.WriteString(before)
	return b.String()
}

// Args expands an argument list. Of absent placeholders (sidecar.md §6): an
// argument that is just one goes, with the argument right before it if that
// is a bare flag; one that ends in ={absent}, or is --{absent}, goes alone;
// inside longer text it becomes empty, but an absent id stays literal.
func (v Values) Args(args []string) []string {
	out := make([]string, 0, len(args))
	for i, arg := range args {
		switch {
		case v.absentSole(arg):
			if i > 0 && bareFlag(args[i-1]) {
				out = out[:len(out)-1]
			}
		case v.dropsAlone(arg):
		default:
			out = append(out, v.expand(arg, absentInArg))
		}
	}
	return out
}

func bareFlag(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "{")
}

func (v Values) dropsAlone(arg string) bool {
	if rest, ok := strings.CutPrefix(arg, "--"); ok && v.absentSole(rest) {
		return true
	}
	if !strings.HasSuffix(arg, "}") {
		return false
	}
	open := strings.LastIndex(arg, "={")
	return open >= 0 && v.absentSole(arg[open+1:])
}
