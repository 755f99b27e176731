package agents

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"dragoman/wire/core"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

const (
	// defaultLimit is how many entries a page has without a limit.
	defaultLimit = 100
	// maxPageBytes ends a page early, far below the longest line.
	maxPageBytes = 8 << 20
)

// pageLimit is a limit as given; it must be positive.
func pageLimit(given *int) (int, error) {
	if given == nil {
		return defaultLimit, nil
	}
	if *given < 1 {
		return 0, op.BadRequest("limit", op.ReasonOutOfRange)
	}
	return *given, nil
}

func (s *Space) list(ctx context.Context, _ op.Call, _ core.None) (core.AgentListResult, error) {
	return core.AgentListResult{Agents: s.o.List(ctx)}, nil
}

func (s *Space) get(_ context.Context, _ op.Call, p core.SessionParams) (core.AgentSession, error) {
	h, err := s.find(p.Session)
	if err != nil {
		return core.AgentSession{}, err
	}
	return h.info(), nil
}

func (s *Space) rename(_ context.Context, _ op.Call, p core.AgentRenameParams) (core.AgentSession, error) {
	h, err := s.find(p.Session)
	if err != nil {
		return core.AgentSession{}, err
	}
	h.mu.Lock()
	h.note.Info.Title = p.Title
	h.mu.Unlock()
	h.changed()
	if err := h.keep(); err != nil {
		return core.AgentSession{}, op.IO(err, "the journal")
	}
	return h.info(), nil
}

// history serves agent.history.
func (s *Space) history(ctx context.Context, _ op.Call, p core.AgentHistoryParams) (core.AgentHistoryResult, error) {
	result := core.AgentHistoryResult{Entries: []core.HistoryEntry{}}
	h, err := s.find(p.Session)
	if err != nil {
		return result, err
	}
	limit, err := pageLimit(p.Limit)
	if err != nil {
		return result, err
	}
	if p.From < 0 {
		return result, op.BadRequest("from", op.ReasonOutOfRange)
	}
	bytesLeft := maxPageBytes
	err = h.log.Read(ctx, p.From, func(index int64, raw []byte) bool {
		if len(result.Entries) == limit || bytesLeft < len(raw) && len(result.Entries) > 0 {
			result.Next = &index
			return false
		}
		bytesLeft -= len(raw)
		if e, ok := historyEntry(index, raw); ok {
			result.Entries = append(result.Entries, e)
		}
		return true
	})
	result.Total = h.log.Len()
	if err != nil {
		return result, op.IO(err, "the journal")
	}
	return result, nil
}

func historyEntry(index int64, raw []byte) (core.HistoryEntry, bool) {
	e := core.HistoryEntry{Index: index}
	if json.Unmarshal(raw, &e) != nil {
		return e, false
	}
	var head struct {
		At core.Time `json:"at"`
	}
	if json.Unmarshal(e.Params, &head) != nil {
		return e, false
	}
	e.At = head.At
	return e, true
}

// search serves agent.sessions.
func (s *Space) search(ctx context.Context, _ op.Call, p core.AgentSessionsParams) (core.AgentSessionsResult, error) {
	result := core.AgentSessionsResult{Sessions: []core.AgentSession{}}
	limit, err := pageLimit(p.Limit)
	if err != nil {
		return result, err
	}
	skip := 0
	if p.From != "" {
		if skip, err = strconv.Atoi(p.From); err != nil || skip < 0 {
			return result, op.BadRequest("from", op.ReasonOutOfRange)
		}
	}
	words := strings.Fields(strings.ToLower(p.Query))
	found := 0
	for _, h := range s.all() {
		ok, err := h.says(ctx, words)
		if err != nil {
			return result, op.IO(err, "the journal")
		}
		if !ok {
			continue
		}
		if found++; found <= skip {
			continue
		}
		if len(result.Sessions) == limit {
			result.Next = strconv.Itoa(skip + limit)
			break
		}
		result.Sessions = append(result.Sessions, h.info())
	}
	return result, nil
}

// says reports whether all words occur in the session's title or history.
// Words are lower case; what an agent says in chunks is read as one text.
func (h *held) says(ctx context.Context, words []string) (bool, error) {
	if len(words) == 0 {
		return true, nil
	}
	left := map[string]bool{}
	for _, w := range words {
		left[w] = true
	}
	look := func(text string) {
		for w := range left {
			if strings.Contains(text, w) {
				delete(left, w)
			}
		}
	}
	look(strings.ToLower(h.info().Title))
	const overlap = 256
	tail, kind := "", ""
	err := h.log.Read(ctx, 0, func(_ int64, raw []byte) bool {
		event, text := spoken(raw)
		if event != kind {
			tail = ""
		}
		kind = event
		text = tail + strings.ToLower(text)
		look(text)
		tail = text[max(0, len(text)-overlap):]
		return len(left) > 0
	})
	return len(left) == 0, err
}

// spoken is the event and the text of an entry; of tool calls the whole.
func spoken(raw []byte) (event, text string) {
	if name, _, ok := ndjson.Get(raw, "event"); ok {
		event = string(bytes.Trim(name, `"`))
	}
	if quoted, kind, ok := ndjson.Get(raw, "params", "text"); ok && kind == ndjson.String {
		if plain, err := ndjson.Unquote(nil, quoted); err == nil {
			return event, string(plain)
		}
	}
	params, _, _ := ndjson.Get(raw, "params")
	return event, string(params)
}

// audited serves agent.audit.
func (s *Space) audited(ctx context.Context, _ op.Call, p core.AgentAuditParams) (core.AgentAuditResult, error) {
	result := core.AgentAuditResult{Entries: []core.AuditEntry{}}
	limit, err := pageLimit(p.Limit)
	if err == nil && p.From < 0 {
		err = op.BadRequest("from", op.ReasonOutOfRange)
	}
	if err == nil && p.Session != "" {
		_, err = s.find(p.Session)
	}
	if err != nil {
		return result, err
	}
	err = s.audit.Read(ctx, p.From, func(index int64, raw []byte) bool {
		var e audited
		if json.Unmarshal(raw, &e) != nil || p.Session != "" && e.Session != p.Session {
			return true
		}
		if len(result.Entries) == limit {
			result.Next = &index
			return false
		}
		result.Entries = append(result.Entries, e.AuditEntry)
		return true
	})
	if err != nil {
		return result, op.IO(err, "the journal")
	}
	return result, nil
}
