//go:build unix

package oracle

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
)

// A group is what came between two steps, without what the contract leaves
// open: where neighbouring chunks of text are cut, and in which order answers
// to different requests come.
type group struct {
	Events  map[string][]any // by session, in order
	Asked   []any
	Answers map[string]any // by id
}

func newGroup() *group {
	return &group{Events: map[string][]any{}, Answers: map[string]any{}}
}

// add takes one line.
func (g *group) add(line string) error {
	var m object
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return fmt.Errorf("line %.200q: %w", line, err)
	}
	switch m["method"] {
	case "session/event":
		session := at(m, "params", "sessionId").(string)
		g.Events[session] = join(g.Events[session], at(m, "params", "event").(object))
	case "permission/request":
		g.Asked = append(g.Asked, m)
	default:
		if e, ok := m["error"].(object); ok {
			delete(e, "message") // words aren't part of the contract
		}
		id, err := json.Marshal(m["id"])
		if err != nil {
			return err
		}
		g.Answers[string(id)] = m
	}
	return nil
}

// join appends an event; the text of a chunk to that of the chunk before it.
func join(events []any, ev object) []any {
	if n := len(events); n > 0 && ev["kind"] == "message-chunk" {
		if last := events[n-1].(object); last["kind"] == "message-chunk" {
			last["text"] = last["text"].(string) + ev["text"].(string)
			return events
		}
	}
	return append(events, ev)
}

func (g *group) equal(other *group) bool { return reflect.DeepEqual(g, other) }

func (g *group) String() string {
	b, err := json.Marshal(g, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

var (
	uuid    = regexp.MustCompile(`a4aa-[0-9a-f]{8}-[0-9a-f-]{27}`)
	session = regexp.MustCompile(`a4aa-[0-9a-f]{32}`)
)

// names stand for what differs from run to run.
type names struct {
	self, version string
	sessions      []string // $S1, $S2, … in the order in which they appear
}

// general replaces what is this run's own in a line of the sidecar.
func (n *names) general(line string) string {
	line = uuid.ReplaceAllString(line, "$$UUID")
	line = session.ReplaceAllStringFunc(line, func(id string) string {
		for i, known := range n.sessions {
			if known == id {
				return fmt.Sprintf("$S%d", i+1)
			}
		}
		n.sessions = append(n.sessions, id)
		return fmt.Sprintf("$S%d", len(n.sessions))
	})
	line = strings.ReplaceAll(line, `"version":"`+n.version+`"`, `"version":"$V"`)
	return strings.ReplaceAll(line, n.self, "$SELF")
}

// own puts this run's own into a line of the host.
func (n *names) own(line string) string {
	for i, id := range n.sessions {
		line = strings.ReplaceAll(line, fmt.Sprintf("$S%d\"", i+1), id+`"`)
	}
	return strings.ReplaceAll(line, "$SELF", n.self)
}
