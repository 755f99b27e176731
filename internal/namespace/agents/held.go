package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/journal"
	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// A note is what is kept of a session beside its history.
type note struct {
	Info core.AgentSession `json:"info"`
	// Spec opens it again.
	Spec jsontext.Value `json:"spec"`
	// Settled are the answered questions and by whom.
	Settled map[string]jsontext.Value `json:"settled,omitempty"`
}

// A held session is one of ours, live or closed.
type held struct {
	space *Space
	id    string
	log   *journal.Log

	// out orders events: journal and hub see them in one order.
	out sync.Mutex

	mu      sync.Mutex
	note    note
	live    *session.Session
	base    uint64 // turns before live was opened
	line    []*ticket
	turns   map[uint64]*ticket // of live, those that were sent
	asked   map[string]*question
	told    map[string]string // members as last told
	deleted bool
}

func (s *Space) hold(id string, n note) (*held, error) {
	log, err := s.o.Journal.Log(id)
	if err != nil {
		return nil, err
	}
	if n.Settled == nil {
		n.Settled = map[string]jsontext.Value{}
	}
	h := &held{space: s, id: id, log: log, note: n, turns: map[uint64]*ticket{}, asked: map[string]*question{}}
	s.mu.Lock()
	s.sessions[id] = h
	s.mu.Unlock()
	return h, nil
}

// revive reads a session of an earlier core.
func (s *Space) revive(id string) error {
	log, err := s.o.Journal.Log(id)
	if err != nil {
		return err
	}
	raw, err := log.Note()
	if err != nil || raw == nil {
		return err
	}
	var n note
	if err := json.Unmarshal(raw, &n); err != nil {
		return err
	}
	h, err := s.hold(id, n)
	if err != nil {
		return err
	}
	for _, q := range n.Info.Pending {
		h.note.Settled[q] = jsontext.Value(`"close"`)
	}
	h.note.Info.Pending, h.note.Info.Queue, h.note.Info.Run = []string{}, []string{}, nil
	h.note.Info.State = session.Closed.String()
	return h.keep()
}

// keep writes the note.
func (h *held) keep() error {
	h.mu.Lock()
	n := h.note
	n.Settled = maps.Clone(n.Settled)
	n.Info = h.infoLocked()
	gone := h.deleted
	h.mu.Unlock()
	if gone {
		return nil
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return h.log.SetNote(raw)
}

// keepOrLog is keep where nobody could be told of an error.
func (h *held) keepOrLog() {
	if err := h.keep(); err != nil && !errors.Is(err, journal.ErrClosed) {
		h.space.o.Log.Error("a session's note", "session", h.id, "err", err)
	}
}

func (h *held) changedAt() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.note.Info.UpdatedAt
}

func (h *held) info() core.AgentSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.infoLocked()
}

// infoLocked is the session as clients see it.
func (h *held) infoLocked() core.AgentSession {
	i := h.note.Info
	i.Queue, i.Pending, i.Run = []string{}, []string{}, nil
	for n, t := range h.line {
		id := t.id
		switch {
		case id == "":
		case n == 0:
			i.Run = &id
		default:
			i.Queue = append(i.Queue, id)
		}
	}
	for id := range h.asked {
		i.Pending = append(i.Pending, id)
	}
	if h.live != nil {
		state, _ := h.live.State()
		i.State = state.String()
	}
	i.HistoryCount = h.log.Len()
	return i
}

// changed tells the clients which members are new.
func (h *held) changed() {
	h.out.Lock()
	defer h.out.Unlock()
	h.mu.Lock()
	h.note.Info.UpdatedAt = now()
	info, gone := h.infoLocked(), h.deleted
	h.mu.Unlock()
	raw, err := json.Marshal(info)
	members := map[string]jsontext.Value{}
	if err == nil {
		err = json.Unmarshal(raw, &members)
	}
	if err != nil || gone {
		return
	}
	diff := core.AgentSessionChangedParams{}
	told := map[string]string{}
	for name, value := range members {
		told[name] = string(value)
		if old, ok := h.told[name]; (!ok || old != told[name]) && name != "historyCount" && name != "updatedAt" {
			diff[name] = value
		}
	}
	h.told = told
	if len(diff) == 0 {
		return
	}
	diff["session"], diff["updatedAt"] = h.id, members["updatedAt"]
	h.space.o.Events.Emit(core.AgentSessionChanged.With(diff))
}

// Changed implements session.Host.
func (h *held) Changed() {
	h.mu.Lock()
	if h.live != nil {
		h.learnLocked(h.live)
	}
	h.mu.Unlock()
	h.changed()
}

// learnLocked takes over what the lane knows.
func (h *held) learnLocked(s *session.Session) {
	i := s.Info()
	if i.NativeID != "" {
		id := i.NativeID
		h.note.Info.NativeSessionID = &id
	}
	c := i.Capabilities
	raw, err := json.Marshal(map[string]any{
		"streaming": c.Streaming, "cancellation": c.Cancellation, "sessionResume": c.SessionResume,
		"permissionPrompts": c.PermissionPrompts, "model": c.Model, "mode": c.Mode, "effort": c.Effort,
		"permission": c.Permission, "usage": c.Usage, "images": c.Images, "resources": c.Resources, "fork": c.Fork,
	}, json.Deterministic(true))
	if err == nil {
		h.note.Info.Capabilities = raw
	}
	var state struct {
		ConfigOptions jsontext.Value `json:"configOptions"`
		Modes         jsontext.Value `json:"modes"`
	}
	if i.State != nil && json.Unmarshal(i.State, &state) == nil {
		h.note.Info.ConfigOptions, h.note.Info.Modes = state.ConfigOptions, state.Modes
	}
}

// ticketOf is the turn that an event belongs to, nil outside one.
func (h *held) ticketOf(turn uint64) *ticket {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turns[turn]
}

// Event implements session.Host.
func (h *held) Event(_ context.Context, ev *agent.Event) {
	switch ev.Kind {
	case agent.KindCommands, agent.KindMode, agent.KindConfig, agent.KindTitle:
		h.sessionEvent(ev)
		return
	}
	t := h.ticketOf(ev.Turn)
	if t != nil {
		t.see(h, ev)
	}
	if ev.Usage != nil {
		h.mu.Lock()
		h.note.Info.Usage = agent.AppendUsage(nil, ev.Usage.Usage)
		h.mu.Unlock()
	}
	name, members := eventMembers(ev)
	h.tell(t, name, ev.Replay, members)
}

// eventNames are the events of the kinds that have one of their own.
var eventNames = map[agent.EventKind]string{
	agent.KindMessage: core.AgentMessage.Name, agent.KindThought: core.AgentThought.Name,
	agent.KindToolCall: core.AgentToolCall.Name, agent.KindToolCallUpdate: core.AgentToolCallUpdate.Name,
	agent.KindPlan: core.AgentPlan.Name, agent.KindUsage: core.AgentUsage.Name,
	agent.KindNotice: core.AgentNotice.Name, agent.KindStalled: core.AgentNotice.Name,
	agent.KindTruncated: core.AgentNotice.Name,
}

// eventMembers gives an event's name and its members, each with a comma
// before it.
func eventMembers(ev *agent.Event) (string, []byte) {
	name, ok := eventNames[ev.Kind]
	if !ok {
		name = core.AgentRaw.Name
	}
	switch ev.Kind {
	case agent.KindStalled:
		return name, fmt.Appendf(nil, `,"level":"warning","code":"stalled","text":"the agent has been silent","data":{"idleMs":%d}`, ev.IdleMs)
	case agent.KindTruncated:
		return name, []byte(`,"level":"warning","code":"truncated","text":"output beyond the limit was left out"`)
	}
	return name, agent.AppendMembers(nil, ev)
}

// tell numbers an event, has it written and sends it.
func (h *held) tell(t *ticket, name string, replay bool, members []byte) {
	h.out.Lock()
	defer h.out.Unlock()
	run, turn := "null", uint64(0)
	if t != nil {
		run, turn = `"`+t.id+`"`, t.turn
	}
	var params []byte
	_, err := h.log.Append(func(index int64) []byte {
		params = appendHead(nil, run, h.id, turn, index)
		if replay {
			params = append(params, `,"replay":true`...)
		}
		params = append(append(params, members...), '}')
		entry := append([]byte(`{"event":"`), name...)
		entry = append(append(entry, `","params":`...), params...)
		return append(entry, '}')
	})
	if err != nil {
		h.space.o.Log.Error("a session's journal", "session", h.id, "err", err)
		return
	}
	if replay {
		return // into the history alone
	}
	m := op.Message{Event: name, Params: jsontext.Value(params)}
	if t != nil {
		t.run.Emit(m)
		return
	}
	h.space.o.Events.Emit(m)
}

func (h *held) sessionEvent(ev *agent.Event) {
	h.mu.Lock()
	value := jsontext.Value(bytes.Clone(ev.Value))
	switch ev.Kind {
	case agent.KindCommands:
		h.note.Info.Commands = value
	case agent.KindConfig:
		h.note.Info.ConfigOptions = value
	case agent.KindTitle:
		h.note.Info.Title = ev.Text
	case agent.KindMode:
		mode := ev.Text
		h.note.Info.Options.Mode = &mode
	}
	h.mu.Unlock()
	h.changed()
}

// end closes the agent of a session; its history stays.
func (h *held) end(ctx context.Context) error {
	h.mu.Lock()
	live := h.live
	for _, t := range h.line {
		t.cancel()
	}
	h.mu.Unlock()
	if live == nil {
		return nil
	}
	if err := live.Close(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	if h.live == live {
		h.live = nil
		h.note.Info.State = session.Closed.String()
	}
	h.mu.Unlock()
	h.changed()
	h.keepOrLog()
	return h.log.Sync(ctx)
}
