package session

import (
	"strings"

	"dragoman/wire/agent"

	"github.com/go-json-experiment/json/jsontext"
)

// note keeps what [watch.suspect] asks for.
func (w *watch) note(ev *agent.Event) {
	if ev.Replay {
		return
	}
	switch ev.Kind {
	case agent.KindMessage:
		w.said = true
		if w.inChunks && !w.tools {
			w.text.add(ev.Text)
		}
	case agent.KindThought:
		w.said = true
	case agent.KindToolCall, agent.KindToolCallUpdate:
		w.said, w.tools = true, true
	}
}

// suspect says why an outcome that looks like a success may be none
// (sidecar.md §2), "" if nothing speaks against it.
func (w *watch) suspect(out *agent.Outcome, afterCancel bool) string {
	if out.StopReason != agent.StopEndTurn {
		return ""
	}
	if afterCancel && !w.said && out.Text == "" {
		return agent.SuspectEmptyAfterCancel
	}
	if w.inChunks && out.Usage == nil && !w.tools && w.text.errorLike() {
		return agent.SuspectAgentErrorText
	}
	return ""
}

// paragraphMax is how much of a paragraph is kept: a JSON error that is
// longer isn't recognised.
const paragraphMax = 64 << 10

// errorStarts begin a paragraph that is an error, lower case.
var errorStarts = []string{"error:", "api error", "info: request failed"}

// paragraphs looks for an error among the paragraphs of a text that comes in
// pieces. Paragraphs are parted by blank lines. It keeps one paragraph.
type paragraphs struct {
	now   []byte // the paragraph so far, at most paragraphMax
	long  bool   // more came than was kept
	solid bool   // the line so far isn't blank
	found bool
}

func (p *paragraphs) add(text string) {
	for !p.found && text != "" {
		line, rest, ended := strings.Cut(text, "\n")
		if strings.TrimSpace(line) != "" {
			p.solid = true
		}
		p.keep(line)
		if !ended {
			return
		}
		p.keep("\n")
		if !p.solid {
			p.finish()
		}
		p.solid, text = false, rest
	}
}

func (p *paragraphs) keep(text string) {
	if room := paragraphMax - len(p.now); len(text) > room {
		p.long = true
		text = text[:room]
	}
	p.now = append(p.now, text...)
}

func (p *paragraphs) finish() {
	p.found = p.found || p.isError()
	p.now, p.long = p.now[:0], false
}

func (p *paragraphs) errorLike() bool {
	p.finish()
	return p.found
}

func (p *paragraphs) isError() bool {
	text := strings.TrimSpace(string(p.now))
	if strings.HasPrefix(text, "{") && !p.long {
		return hasErrorMember(text)
	}
	for _, start := range errorStarts {
		if len(text) >= len(start) && strings.EqualFold(text[:len(start)], start) {
			return true
		}
	}
	return false
}

func hasErrorMember(text string) bool {
	fields := agent.ReadFields("", jsontext.Value(text))
	return fields.Err() == nil && fields.Has("error")
}
