package solo

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/core"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// A conversation is one session and its questions. It is the session's host.
type conversation struct {
	agents  *Agents
	session *session.Session
	agent   string
	title   string
	cwd     string
	options core.AgentOptions
	created time.Time

	mu        sync.Mutex
	id        string
	index     int64
	runs      map[uint64]string // by turn
	questions map[string]*question
}

// A question waits for its answer.
type question struct {
	asked  *agent.Question
	answer chan agent.Answer
	over   bool
}

func newConversation(k *Agents, agentID, title, cwd string, o core.AgentOptions) *conversation {
	return &conversation{
		agents: k, agent: agentID, title: title, cwd: cwd, options: o, created: time.Now().UTC(),
		runs: make(map[uint64]string), questions: make(map[string]*question),
	}
}

func (c *conversation) setID(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

// submit hands in a prompt and remembers whose run its turn is.
func (c *conversation) submit(run string, p session.Prompt) (*session.Turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := c.session.Submit(p)
	if err == nil {
		c.runs[t.Number()] = run
	}
	return t, err
}

func (c *conversation) runOf(turn uint64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[turn]
}

// head is what every event of the session has.
func (c *conversation) head(turn uint64) core.AgentEventHead {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := core.AgentEventHead{Session: c.id, Turn: int64(turn), Index: c.index, At: time.Now().UTC()}
	c.index++
	if run, ok := c.runs[turn]; ok {
		h.Run = &run
	}
	return h
}

func (c *conversation) tell(name string, params any) {
	c.agents.config.Events.Emit(op.Message{Event: name, Params: params})
}

// eventNames are the core's events by the session model's kinds; others are
// told as agent.raw.
var eventNames = map[agent.EventKind]string{
	agent.KindMessage:        core.AgentMessage.Name,
	agent.KindThought:        core.AgentThought.Name,
	agent.KindToolCall:       core.AgentToolCall.Name,
	agent.KindToolCallUpdate: core.AgentToolCallUpdate.Name,
	agent.KindPlan:           core.AgentPlan.Name,
	agent.KindUsage:          core.AgentUsage.Name,
	agent.KindNotice:         core.AgentNotice.Name,
	agent.KindRaw:            core.AgentRaw.Name,
}

// Event tells one event (session.Host).
func (c *conversation) Event(_ context.Context, ev *agent.Event) {
	name, ok := eventNames[ev.Kind]
	head := c.head(ev.Turn)
	switch {
	case ok:
		c.tell(name, spliced{head, agent.AppendMembers(nil, ev)})
	case ev.Kind == agent.KindStalled, ev.Kind == agent.KindTruncated:
		c.tell(core.AgentNotice.Name, core.AgentNoticeParams{AgentEventHead: head, Level: "warning", Code: string(ev.Kind)})
	default:
		members := ndjson.AppendQuote([]byte(`,"`+string(ev.Kind)+`":`), ev.Text)
		if ev.Value != nil {
			members = append([]byte(`,"`+string(ev.Kind)+`":`), ev.Value...)
		}
		c.tell(core.AgentSessionChanged.Name, spliced{head, members})
	}
}

// spliced is a head with members that are JSON already, each with a comma
// before it.
type spliced struct {
	head    core.AgentEventHead
	members []byte
}

// MarshalJSONTo puts the members behind the head's.
func (s spliced) MarshalJSONTo(e *jsontext.Encoder) error {
	b := []byte(`{"run":null`)
	if s.head.Run != nil {
		b = ndjson.AppendQuote([]byte(`{"run":`), *s.head.Run)
	}
	b = ndjson.AppendQuote(append(b, `,"session":`...), s.head.Session)
	b = strconv.AppendInt(append(b, `,"turn":`...), s.head.Turn, 10)
	b = strconv.AppendInt(append(b, `,"index":`...), s.head.Index, 10)
	b = append(agent.AppendTime(append(b, `,"at":"`...), s.head.At), '"')
	return e.WriteValue(append(append(b, s.members...), '}'))
}

// Ask tells a question and waits for its answer (session.Host).
func (c *conversation) Ask(ctx context.Context, q *agent.Question) agent.Answer {
	id := rand.Text()
	waiting := &question{asked: q, answer: make(chan agent.Answer, 1)}
	c.mu.Lock()
	c.questions[id] = waiting
	c.mu.Unlock()
	head := c.head(q.Turn)
	request := core.PermissionRequest{
		Request: id, Session: head.Session, Run: head.Run, Turn: head.Turn, CreatedAt: head.At,
		ToolCall: toolCall(&q.ToolCall), Options: []core.PermissionOption{},
	}
	for _, o := range q.Options {
		request.Options = append(request.Options, core.PermissionOption{OptionID: o.ID, Name: o.Name, Kind: o.Kind, Then: o.Then})
	}
	c.tell(core.AgentPermission.Name, request)
	var answer agent.Answer
	select {
	case answer = <-waiting.answer:
	case <-ctx.Done():
	}
	c.mu.Lock()
	waiting.over = true
	c.mu.Unlock()
	return answer
}

// toolCall is a call as one object.
func toolCall(call *agent.ToolCall) jsontext.Value {
	members := agent.AppendMembers(nil, &agent.Event{Kind: agent.KindToolCall, ToolCall: call, Raw: []byte("null")})
	if len(members) == 0 {
		return jsontext.Value("{}")
	}
	return append(append([]byte("{"), members[1:]...), '}')
}

// answer settles a question of this session, if it is one.
func (c *conversation) answer(p core.AgentPermitParams) (found bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.questions[p.Request]
	switch {
	case q == nil:
		return false, nil
	case q.over:
		return true, op.Conflict(op.ConflictResolved, "request %s was answered", p.Request)
	case p.Option != "" && !q.asked.Offered(p.Option):
		return true, op.BadRequest("option", "not_offered")
	}
	q.over = true
	q.answer <- agent.Answer{OptionID: p.Option, Reason: p.Reason}
	return true, nil
}

// Changed has nothing to tell: a session is described when it opens
// (session.Host).
func (c *conversation) Changed() {}
