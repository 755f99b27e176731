package codex

import (
	"path/filepath"
	"strings"

	"dragoman/wire/acp"
	"dragoman/wire/agent"
)

// A change is one file of a patch.
type change struct {
	path, kind, diff, moved string
}

// patch reads the changes of a file change into a call.
func patch(c *agent.ToolCall, o acp.Object) {
	list, _ := o.List("changes")
	changes := make([]change, 0, len(list))
	for _, item := range list {
		body := acp.AsObject(item)
		ch := change{path: body.Str("path"), kind: body.Str("kind"), diff: body.Str("diff")}
		if kind := body.Object("kind"); kind != nil {
			ch.kind, ch.moved = kind.Str("type"), kind.Str("move_path")
		}
		changes = append(changes, ch)
	}
	setChanges(c, changes)
}

// oldPatch reads fileChanges of applyPatchApproval: an object by path.
func oldPatch(c *agent.ToolCall, files acp.Object) {
	var changes []change
	for _, p := range pairs(files) {
		body := acp.AsObject(p.Value)
		ch := change{path: p.Name, kind: body.Str("type"), moved: body.Str("move_path")}
		if ch.diff = body.Str("unified_diff"); ch.diff == "" {
			ch.diff = body.Str("content")
		}
		changes = append(changes, ch)
	}
	setChanges(c, changes)
}

func setChanges(c *agent.ToolCall, changes []change) {
	c.Kind, c.Title = "edit", "Edit files"
	var names []string
	for _, ch := range changes {
		names = append(names, filepath.Base(ch.path))
		c.Locations = append(c.Locations, agent.Location{Path: ch.path})
		if ch.moved != "" {
			c.Locations = append(c.Locations, agent.Location{Path: ch.moved})
		}
		c.Content = append(c.Content, ch.content()...)
	}
	c.HasContent = len(c.Content) > 0
	if len(names) > 0 {
		c.Title = "Edit " + strings.Join(names, ", ")
	}
}

// content is the diff of one file: a new or deleted one whole, else one piece
// for each hunk.
func (ch change) content() []agent.ToolContent {
	path := ch.path
	if ch.moved != "" {
		path = ch.moved
	}
	switch {
	case ch.diff == "":
		return nil
	case ch.kind == "add":
		return []agent.ToolContent{{Type: "diff", Path: path, NewText: ch.diff}}
	case ch.kind == "delete":
		return []agent.ToolContent{{Type: "diff", Path: path, OldText: &ch.diff}}
	}
	return hunks(path, ch.diff)
}

// hunks reads a unified diff.
func hunks(path, diff string) []agent.ToolContent {
	var list []agent.ToolContent
	var before, after strings.Builder
	end := func() {
		if before.Len()+after.Len() > 0 {
			old := before.String()
			list = append(list, agent.ToolContent{Type: "diff", Path: path, OldText: &old, NewText: after.String()})
		}
		before.Reset()
		after.Reset()
	}
	inHunk := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			end()
			inHunk = true
		case !inHunk || strings.HasPrefix(line, `\`):
			// A header, or the word about a missing newline.
		case line[0] == '-':
			before.WriteString(line[1:])
		case line[0] == '+':
			after.WriteString(line[1:])
		default:
			line = strings.TrimPrefix(line, " ")
			before.WriteString(line)
			after.WriteString(line)
		}
	}
	end()
	if len(list) == 0 { // no diff as we know it
		return []agent.ToolContent{{Type: "text", Text: diff}}
	}
	return list
}

// pairs are the members of an object.
func pairs(object []byte) []agent.Pair {
	var list []agent.Pair
	acp.Object(object).Each(func(key, value []byte) bool {
		name, ok := acp.Text([]byte(`"` + string(key) + `"`))
		if ok {
			list = append(list, agent.Pair{Name: name, Value: value})
		}
		return true
	})
	return list
}
