package turns

import (
	"path/filepath"
	"slices"
	"time"

	"dragoman/internal/edit/attribute"
	"dragoman/wire/agent"
	"dragoman/wire/core"
)

// ToolCall takes what a turn's call says of itself. Members that an update
// leaves out are as they were.
func (t *Tracker) ToolCall(run string, c *agent.ToolCall) {
	t.mu.Lock()
	f := t.runs[run]
	if f == nil {
		t.mu.Unlock()
		return
	}
	now := time.Now()
	i := slices.IndexFunc(f.Calls, func(k attribute.Call) bool { return k.ID == c.ID })
	if i < 0 {
		f.Calls = append(f.Calls, attribute.Call{ID: c.ID})
		i = len(f.Calls) - 1
		f.began[c.ID] = now
	}
	call := &f.Calls[i]
	for _, p := range t.touched(f.cwd, c) {
		if !slices.Contains(call.Paths, p) {
			call.Paths = append(call.Paths, p)
		}
	}
	over := c.Status == "completed" || c.Status == "failed"
	if over && call.Ended.IsZero() {
		call.Ended = now
	}
	done, since := *call, f.began[c.ID]
	owner := attribute.Verdict{
		Kind: attribute.Agent, Certainty: attribute.Reported, Run: run, Session: f.Session, Call: c.ID,
	}
	t.mu.Unlock()
	if c.Status == "completed" && len(done.Paths) > 0 {
		// Behind what was seen by now, which the call may explain.
		t.later(func() { t.moved(t.o.Ledger.Correct(owner, done, since)...) })
	}
}

// touched are the paths that a call says it edits, moves or deletes.
func (t *Tracker) touched(cwd string, c *agent.ToolCall) []string {
	var raw []string
	switch c.Kind {
	case "edit", "delete", "move":
		for _, l := range c.Locations {
			raw = append(raw, l.Path)
		}
	}
	for _, part := range c.Content {
		if part.Type == "diff" {
			raw = append(raw, part.Path)
		}
	}
	var paths []string
	for _, p := range raw {
		if p == "" {
			continue
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(cwd, p)
		}
		if real, err := t.files.Resolve(filepath.Clean(p)); err == nil {
			paths = append(paths, real)
		}
	}
	return paths
}

// moved tells of ended runs whose changes aren't what they were.
func (t *Tracker) moved(runs ...string) {
	for _, run := range runs {
		if turn, ok := t.o.Ledger.Turn(run); ok && turn.Ended {
			t.o.Events.Emit(core.AgentChanged.With(core.RunParams{Run: run}))
		}
	}
}
