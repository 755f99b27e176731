package agents

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dragoman/internal/lane"
	"dragoman/internal/session"
	"dragoman/wire/agent"
	"dragoman/wire/core"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// Limits of a prompt.
const (
	// maxText is how much of an answer a turn's result holds; the whole is in
	// the history.
	maxText = 1 << 20
	// maxAttachment bounds one attachment.
	maxAttachment = 32 << 20
)

// A ticket is a place in a session's line of turns.
type ticket struct {
	// ready is closed when the turn is the first in line.
	ready chan struct{}
	// cancelled is closed when the turn is to be cancelled.
	cancelled chan struct{}
	once      sync.Once

	// id is the run's, "" until it began; guarded by the session's mu.
	id     string
	run    op.Run
	client string
	turn   uint64 // as clients count, set before the prompt goes out

	// text is what the agent said, written by Event and read once the turn
	// has settled.
	text strings.Builder
}

func (t *ticket) cancel() { t.once.Do(func() { close(t.cancelled) }) }

// see takes what the result and others need from an event of the turn.
func (t *ticket) see(h *held, ev *agent.Event) {
	if ev.Kind == agent.KindMessage && !ev.Replay && t.text.Len()+len(ev.Text) <= maxText {
		t.text.WriteString(ev.Text)
	}
	if ev.ToolCall != nil && h.space.o.Turns != nil {
		h.space.o.Turns.ToolCall(t.id, ev.ToolCall)
	}
}

// join takes a place in line. Without queue it fails while a turn runs.
func (h *held) join(client string, queue bool) (*ticket, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.line) > 0 && !queue {
		return nil, op.Conflict(op.ConflictTurnRunning, "a turn of session %s is running", h.id)
	}
	t := &ticket{ready: make(chan struct{}), cancelled: make(chan struct{}), client: client}
	h.line = append(h.line, t)
	if len(h.line) == 1 {
		close(t.ready)
	}
	return t, nil
}

// leave gives the place up; the next in line is ready then.
func (h *held) leave(t *ticket) {
	h.mu.Lock()
	i := slices.Index(h.line, t)
	if i >= 0 {
		h.line = slices.Delete(h.line, i, i+1)
		if i == 0 && len(h.line) > 0 {
			close(h.line[0].ready)
		}
	}
	for n, other := range h.turns {
		if other == t {
			delete(h.turns, n)
		}
	}
	h.mu.Unlock()
	h.changed()
}

func (s *Space) send(_ context.Context, c op.Call, p core.AgentSendParams) (op.Work[core.AgentSendResult], error) {
	if p.Agent != "" {
		if !s.o.Known(p.Agent) {
			return op.Work[core.AgentSendResult]{}, op.NotFound("agent", p.Agent)
		}
		return op.Work[core.AgentSendResult]{Do: func(ctx context.Context, r op.Run) (core.AgentSendResult, error) {
			h, _, err := s.start(ctx, opening{spec: presetSpec(p.Agent)})
			if err != nil {
				return core.AgentSendResult{}, err
			}
			t, err := h.join(c.Client, p.Queue)
			if err != nil {
				return core.AgentSendResult{}, err
			}
			r.SetSession(h.id)
			return h.take(ctx, r, c, t, p)
		}}, nil
	}
	h, err := s.find(p.Session)
	if err != nil {
		return op.Work[core.AgentSendResult]{}, err
	}
	t, err := h.join(c.Client, p.Queue)
	if err != nil {
		return op.Work[core.AgentSendResult]{}, err
	}
	queued := true
	select {
	case <-t.ready:
		queued = false
	default:
	}
	return op.Work[core.AgentSendResult]{Session: h.id, Queued: queued, Do: func(ctx context.Context, r op.Run) (core.AgentSendResult, error) {
		return h.take(ctx, r, c, t, p)
	}}, nil
}

// take waits for the turn's place and runs it.
func (h *held) take(ctx context.Context, r op.Run, c op.Call, t *ticket, p core.AgentSendParams) (core.AgentSendResult, error) {
	defer h.leave(t)
	h.mu.Lock()
	t.id, t.run = r.ID(), r
	h.mu.Unlock()
	h.changed()
	select {
	case <-t.ready:
	case <-t.cancelled:
		return core.AgentSendResult{}, op.Cancelled("")
	case <-ctx.Done():
		return core.AgentSendResult{}, ctx.Err()
	}
	r.Running()
	result, err := h.turn(ctx, c, t, p)
	if sync := h.log.Sync(context.WithoutCancel(ctx)); sync != nil && err == nil {
		err = op.IO(sync, "the journal")
	}
	h.keepOrLog()
	return result, err
}

// turn runs the turn that is first in line.
func (h *held) turn(ctx context.Context, c op.Call, t *ticket, p core.AgentSendParams) (core.AgentSendResult, error) {
	h.mu.Lock()
	live, cwd := h.live, h.note.Info.Cwd
	h.mu.Unlock()
	if live == nil {
		return core.AgentSendResult{}, wireError(agent.Fail(agent.CodeSessionClosed, agent.StagePrompt, "the session is closed"))
	}
	attachments, err := h.attachments(ctx, c.Unit, live.Info().Capabilities, p)
	if err != nil {
		return core.AgentSendResult{}, err
	}
	unsaved, err := h.unsaved(ctx, p.Unsaved, cwd)
	if err != nil {
		return core.AgentSendResult{}, err
	}
	whole := true
	if turns := h.space.o.Turns; turns != nil {
		whole = turns.Begin(ctx, t.id, h.id, cwd)
		defer turns.End(context.WithoutCancel(ctx), t.id)
	}
	select {
	case <-t.cancelled:
		return core.AgentSendResult{}, op.Cancelled("")
	case <-ctx.Done():
		return core.AgentSendResult{}, ctx.Err()
	default:
	}
	h.mu.Lock()
	h.note.Info.Turn++
	t.turn = uint64(h.note.Info.Turn)
	h.turns[t.turn-h.base] = t
	h.mu.Unlock()
	members := append([]byte(`,"text":`), ndjson.AppendQuote(nil, p.Text)...)
	members = append(append(members, `,"client":`...), ndjson.AppendQuote(nil, t.client)...)
	h.tell(t, core.AgentPrompt.Name, false, members)
	if len(unsaved) > 0 {
		h.notice(t, "unsaved_files", "files with unsaved text stand below the agent's folder", map[string]any{"paths": unsaved})
	}
	if !whole {
		h.notice(t, "checkpoint_partial", "not every file's content before the turn is kept", map[string]any{})
	}
	return h.prompt(ctx, live, t, session.Prompt{Text: p.Text, Attachments: attachments})
}

// prompt hands the prompt to the engine and waits for the turn's end.
func (h *held) prompt(ctx context.Context, live *session.Session, t *ticket, p session.Prompt) (core.AgentSendResult, error) {
	turn, err := live.Submit(p)
	if err != nil {
		h.mu.Lock()
		h.base++ // the engine didn't count it
		h.mu.Unlock()
		return core.AgentSendResult{}, wireError(err)
	}
	h.changed()
	select {
	case <-turn.Done():
	case <-t.cancelled:
	case <-ctx.Done():
	}
	select {
	case <-turn.Done():
	default:
		h.stop(context.WithoutCancel(ctx), live, turn)
	}
	out, err := turn.Result()
	if err != nil {
		return core.AgentSendResult{}, wireError(err)
	}
	result := core.AgentSendResult{Session: h.id, StopReason: out.StopReason, Suspect: out.Suspect}
	text := out.Text
	if text == "" {
		text = t.text.String()
	}
	if text != "" {
		result.Text = &text
	}
	if out.Usage != nil {
		result.Usage = agent.AppendUsage(nil, out.Usage)
		h.mu.Lock()
		h.note.Info.Usage = result.Usage
		h.mu.Unlock()
	}
	return result, nil
}

// stop cancels a turn and waits for its end.
func (h *held) stop(ctx context.Context, live *session.Session, turn *session.Turn) {
	told := live.BeginCancelTurn(turn.Number())
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := told(ctx); err != nil && ctx.Err() == nil {
			h.space.o.Log.Info("the agent refused a cancel", "session", h.id, "err", err)
		}
	}()
	<-turn.Done()
	cancel()
	<-done
}

// notice tells people a remark of ours.
func (h *held) notice(t *ticket, code, text string, data map[string]any) {
	raw, err := marshal(data)
	if err != nil {
		return
	}
	ev := &agent.Event{Kind: agent.KindNotice, Notice: &agent.Notice{Level: "warning", Code: code, Text: text, Data: raw}}
	name, members := eventMembers(ev)
	h.tell(t, name, false, members)
}

// unsaved does with modified documents what the prompt says, and lists those
// that stay so (documents.md rule 7).
func (h *held) unsaved(ctx context.Context, how core.Unsaved, cwd string) ([]string, error) {
	docs := h.space.o.Documents
	if docs == nil {
		return nil, nil
	}
	paths := docs.Unsaved(cwd)
	switch {
	case len(paths) == 0:
		return nil, nil
	case how == core.UnsavedRefuse:
		return nil, op.Conflict(op.ConflictModified, "%d files have unsaved text", len(paths)).With("paths", paths)
	case how == core.UnsavedSave:
		return nil, docs.Save(ctx, paths)
	}
	return paths, nil
}

// attachments are the context and attachments of a prompt.
func (h *held) attachments(ctx context.Context, unit op.Unit, can lane.Capabilities, p core.AgentSendParams) ([]lane.Attachment, error) {
	var list []lane.Attachment
	for _, piece := range p.Context {
		if !can.Resources {
			return nil, op.Unsupported("%s takes no context", h.agent())
		}
		if h.space.o.Documents == nil {
			return nil, op.Unsupported("there are no documents here")
		}
		a, err := h.space.o.Documents.Context(ctx, unit, piece)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	for i, given := range p.Attachments {
		if given.Type == "image" && !can.Images || given.Type != "image" && !can.Resources {
			return nil, op.Unsupported("%s takes no attachment of type %s", h.agent(), given.Type)
		}
		a, err := h.attachment(given, i)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func (h *held) attachment(given core.AgentAttachment, i int) (lane.Attachment, error) {
	a := lane.Attachment{Type: string(given.Type), MimeType: given.MimeType, Name: given.Name, Data: given.Base64}
	if given.Path == "" {
		a.URI = "attachment:" + strconv.Itoa(i)
		return a, nil
	}
	path, err := h.space.o.Folder(given.Path)
	if err != nil {
		return a, err
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxAttachment {
		return a, op.TooLarge(given.Path, maxAttachment, info.Size())
	}
	if err == nil {
		a.Data, err = os.ReadFile(path)
	}
	if err != nil {
		return a, op.IO(err, given.Path)
	}
	a.URI = "file://" + path
	if a.Name == "" {
		a.Name = filepath.Base(path)
	}
	return a, nil
}

func (h *held) agent() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.note.Info.Agent
}

// cancel serves agent.cancel.
func (s *Space) cancel(_ context.Context, _ op.Call, p core.AgentCancelParams) (core.AgentCancelResult, error) {
	h, err := s.find(p.Session)
	if err != nil {
		return core.AgentCancelResult{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	did := false
	for i, t := range h.line {
		chosen := i == 0 || p.Queue
		if p.Run != "" {
			chosen = t.id == p.Run || p.Queue && i > 0
		}
		if chosen {
			t.cancel()
			did = true
		}
	}
	return core.AgentCancelResult{Cancelled: did}, nil
}

// appendHead starts the params of an event (core.md §6 "Events").
func appendHead(dst []byte, run, session string, turn uint64, index int64) []byte {
	dst = append(append(dst, `{"run":`...), run...)
	dst = append(append(dst, `,"session":"`...), session...)
	dst = strconv.AppendUint(append(dst, `","turn":`...), turn, 10)
	dst = strconv.AppendInt(append(dst, `,"index":`...), index, 10)
	dst = agent.AppendTime(append(dst, `,"at":"`...), time.Now())
	return append(dst, '"')
}

// presetSpec is the spec that names a known agent.
func presetSpec(id string) jsontext.Value {
	return append(append([]byte(`{"id":`), ndjson.AppendQuote(nil, id)...), '}')
}
