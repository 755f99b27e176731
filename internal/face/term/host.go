package term

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"dragoman/wire/agent"
)

// Format says how events are printed.
type Format int

// The formats.
const (
	Text  Format = iota // the text for people
	Lines               // one JSON object a line
)

// A Host prints a session's events and answers its questions. Its exported
// fields are set before the session is opened.
type Host struct {
	// Out gets the answer, Err the rest. Both are written under one lock.
	Out, Err io.Writer
	Format   Format
	Policy   Policy
	// Person answers when Policy is PolicyAsk; nil when there is no terminal.
	Person Person

	mu       sync.Mutex
	midLine  bool // Out is within a line
	refusals int
	line     []byte
	said     strings.Builder

	asking sync.Mutex // one question at a time
}

// Event prints one event (session.Host).
func (h *Host) Event(_ context.Context, ev *agent.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ev.Kind == agent.KindMessage && !ev.Replay {
		h.said.WriteString(ev.Text)
	}
	if h.Format == Lines {
		h.line = append(agent.AppendFull(h.line[:0], ev), '\n')
		h.Out.Write(h.line) // a closed pipe ends the process by its signal
		return
	}
	switch ev.Kind {
	case agent.KindMessage:
		if ev.Text == "" || ev.Replay {
			return
		}
		io.WriteString(h.Out, plain(ev.Text))
		h.midLine = !strings.HasSuffix(ev.Text, "\n")
	case agent.KindToolCall:
		h.note("· %s", toolTitle(ev.ToolCall))
	case agent.KindToolCallUpdate:
		if s := ev.ToolCall.Status; s == "failed" {
			h.note("· %s: failed", toolTitle(ev.ToolCall))
		}
	case agent.KindNotice:
		h.note("%s: %s", ev.Notice.Level, ev.Notice.Text)
	case agent.KindStalled:
		h.note("nothing was heard for %d s; interrupt to cancel", ev.IdleMs/1000)
	case agent.KindTruncated:
		h.note("the output budget is used up; the rest is left out")
	}
}

// Changed does nothing: a terminal shows no state (session.Host).
func (h *Host) Changed() {}

// Finish ends a line that is still open.
func (h *Host) Finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLine()
}

// Said is the concatenation of the message chunks, without history.
func (h *Host) Said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.said.String()
}

// Refusals counts the questions that were answered with a no.
func (h *Host) Refusals() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refusals
}

// note writes a line of ours, never into a line of the answer. The caller
// holds mu.
func (h *Host) note(format string, args ...any) {
	h.endLine()
	fmt.Fprintf(h.Err, "%s\n", plain(fmt.Sprintf(format, args...)))
}

func (h *Host) endLine() {
	if h.midLine && h.Format == Text {
		io.WriteString(h.Out, "\n")
	}
	h.midLine = false
}

func toolTitle(c *agent.ToolCall) string {
	for _, s := range []string{c.Title, c.Shell, strings.Join(c.Argv, " "), c.Kind} {
		if s != "" {
			return s
		}
	}
	return c.ID
}

// plain removes what could drive the terminal: an agent's text must not move
// the cursor or hide a question. Tabs and line ends stay.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t' && r != '\r') || (r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, s)
}
