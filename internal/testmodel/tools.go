package testmodel

import (
	"fmt"
	"slices"
	"strings"
)

// The names under which agents offer a shell, a writer and a reader of
// files, the one to take first in front.
var (
	shellNames = []string{"exec_command", "shell_command", "shell", "local_shell", "container.exec", "Bash", "bash",
		"run_shell_command", "execute_command", "run_commands", "Execute", "execute", "launch-process",
		"run_in_terminal", "terminal", "run_command", "powershell"}
	writeNames = []string{"Write", "write", "write_file", "WriteFile", "write_to_file", "save-file", "create", "Create",
		"create_file", "apply_patch", "ApplyPatch", "editor", "edit", "Edit"}
	readNames = []string{"Read", "read", "read_file", "ReadFile", "view", "View", "read_files", "open_file"}
)

// A toolCall is one that the model makes.
type toolCall struct {
	kind string // function, custom, local_shell
	name string
	// args for a function and local_shell, input for a custom tool.
	args  object
	input string
}

func (p *prompt) offered(names []string) (tool, bool) {
	for _, name := range names {
		for _, t := range p.tools {
			if t.name == name {
				return t, true
			}
		}
	}
	return tool{}, false
}

// shellCall calls whatever shell the agent offers; nil if there is none.
func (p *prompt) shellCall(command string) *toolCall {
	t, ok := p.offered(shellNames)
	if !ok {
		return nil
	}
	if t.kind == "local_shell" || t.name == "local_shell" {
		return &toolCall{kind: "local_shell", name: t.name,
			args: object{"type": "exec", "command": []any{"bash", "-lc", command}, "env": object{}}}
	}
	properties := obj(t.schema["properties"])
	args := fill(t.schema, func(name string, property object) (any, bool) {
		switch name {
		case "command", "cmd", "script", "commands":
			if !hasType(property, "array") {
				return command, true
			}
			if properties["commands"] != nil {
				return []any{command}, true
			}
			return []any{"bash", "-lc", command}, true
		case "description":
			return "mock command", true
		}
		return nil, false
	})
	if t.name == "launch-process" {
		args["wait"], args["max_wait_seconds"] = true, 100
	}
	if strings.Contains(p.user, "ESCALATE") {
		escalate(args, properties)
	}
	return &toolCall{kind: "function", name: t.name, args: args}
}

// escalate asks, in the words of Codex's tools, to leave the sandbox.
func escalate(args, properties object) {
	const why = "mock asks for it"
	switch {
	case properties["sandbox_permissions"] != nil:
		args["sandbox_permissions"], args["justification"] = "require_escalated", why
	case properties["with_escalated_permissions"] != nil:
		args["with_escalated_permissions"], args["justification"] = true, why
	}
}

// writeCall writes a file with the tool that the agent offers, or through
// its shell.
func (p *prompt) writeCall(path, content string) *toolCall {
	t, ok := p.offered(writeNames)
	if !ok {
		return p.shellCall(fmt.Sprintf("printf '%%s\\n' '%s' > '%s'", content, path))
	}
	patch := fmt.Sprintf("*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch", path, content)
	if t.kind == "custom" {
		return &toolCall{kind: "custom", name: t.name, input: patch}
	}
	return &toolCall{kind: "function", name: t.name, args: fill(t.schema, func(name string, _ object) (any, bool) {
		switch name {
		case "file_path", "filepath", "path", "absolute_path", "filename", "file":
			return path, true
		case "content", "contents", "file_text", "file_content", "text", "new_string", "newstring", "new_text", "new_str":
			return content, true
		case "old_string", "oldstring", "old_text", "old_str":
			return "", true
		case "patchtext", "input", "patch", "patch_text":
			return patch, true
		case "command":
			return "create", true
		}
		return nil, false
	})}
}

func (p *prompt) readCall(path string) *toolCall {
	t, ok := p.offered(readNames)
	if !ok {
		return p.shellCall(fmt.Sprintf("cat '%s'", path))
	}
	return &toolCall{kind: "function", name: t.name, args: fill(t.schema, func(name string, _ object) (any, bool) {
		switch name {
		case "file_path", "filepath", "path", "absolute_path":
			return path, true
		}
		return nil, false
	})}
}

// fill makes arguments for a schema: known values by the property's
// lower-case name, and of the rest the required ones by their type.
func fill(schema object, known func(name string, property object) (any, bool)) object {
	out := object{}
	properties := obj(schema["properties"])
	for name, v := range properties {
		if value, ok := known(strings.ToLower(name), obj(v)); ok {
			out[name] = value
		}
	}
	required, _ := schema["required"].([]any)
	for _, r := range required {
		name := str(r)
		if _, ok := out[name]; !ok {
			out[name] = placeholder(obj(properties[name]))
		}
	}
	return out
}

func placeholder(property object) any {
	if list, ok := property["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	switch {
	case hasType(property, "boolean"):
		return false
	case hasType(property, "integer"), hasType(property, "number"):
		return 30
	case hasType(property, "array"):
		return []any{}
	case hasType(property, "object"):
		return object{}
	}
	return "mock"
}

func hasType(property object, want string) bool {
	switch t := property["type"].(type) {
	case string:
		return strings.EqualFold(t, want)
	case []any:
		return slices.ContainsFunc(t, func(v any) bool { return strings.EqualFold(str(v), want) })
	}
	return false
}
