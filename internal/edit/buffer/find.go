package buffer

import (
	"context"

	"dragoman/internal/edit/match"
	"dragoman/internal/edit/text"
)

// MaxMatches is how many matches Matches gives unless asked for more or fewer.
const MaxMatches = 10000

// commitTries is how often a computed change is computed again because the text
// moved on, before it is computed with the text held.
const commitTries = 3

// FindParams are the params of Find.
type FindParams struct {
	Buffer  ID
	Query   string
	Options match.Options
	// From is where to start; nil: the start, or backwards the end.
	From      *text.Position
	Backwards bool
	Unit      text.Unit
}

// FindResult is the result of Find.
type FindResult struct {
	Found   bool
	Range   Range
	Wrapped bool
}

// Find gives the next match, or the one before (buffer.find).
func (s *Set) Find(ctx context.Context, p FindParams) (FindResult, error) {
	pattern, err := match.Compile(p.Query, p.Options)
	if err != nil {
		return FindResult{}, diskError("", err)
	}
	t, _, err := s.Snapshot(p.Buffer)
	if err != nil {
		return FindResult{}, err
	}
	from := 0
	if p.Backwards {
		from = t.Len() + 1
	}
	if p.From != nil {
		if from, err = t.Offset(*p.From, p.Unit); err != nil {
			return FindResult{}, badIndex("from", err)
		}
	}
	find := findAfter
	if p.Backwards {
		find = findBefore
	}
	start, end, wrapped, err := find(ctx, t, pattern, from)
	if err != nil {
		return FindResult{}, cancelled(err)
	}
	if start < 0 {
		return FindResult{}, nil
	}
	return FindResult{true, rangeOf(t, start, end, p.Unit), wrapped}, nil
}

func cancelled(err error) error {
	e := fail(Cancelled, "cancelled")
	e.Err = err
	return e
}

func findAfter(ctx context.Context, t text.Text, p *match.Pattern, from int) (start, end int, wrapped bool, err error) {
	start = -1
	first := func(s, e int) bool {
		start, end = s, e
		return false
	}
	if err = Scan(ctx, t, p, from, first); err != nil || start >= 0 || from == 0 {
		return start, end, false, err
	}
	err = Scan(ctx, t, p, 0, first)
	return start, end, true, err
}

func findBefore(ctx context.Context, t text.Text, p *match.Pattern, from int) (start, end int, wrapped bool, err error) {
	start, end, err = lastBefore(ctx, t, p, from)
	if err != nil || start >= 0 || from > t.Len() {
		return start, end, false, err
	}
	start, end, err = lastBefore(ctx, t, p, t.Len()+1)
	return start, end, true, err
}

// MatchesParams are the params of Matches.
type MatchesParams struct {
	Buffer  ID
	Query   string
	Options match.Options
	// Max is the most ranges; 0: MaxMatches.
	Max  int
	Unit text.Unit
}

// MatchesResult is the result of Matches.
type MatchesResult struct {
	Ranges    []Range
	Truncated bool
}

// Matches gives all matches (buffer.matches).
func (s *Set) Matches(ctx context.Context, p MatchesParams) (MatchesResult, error) {
	pattern, err := match.Compile(p.Query, p.Options)
	if err != nil {
		return MatchesResult{}, diskError("", err)
	}
	t, _, err := s.Snapshot(p.Buffer)
	if err != nil {
		return MatchesResult{}, err
	}
	limit := p.Max
	if limit <= 0 {
		limit = MaxMatches
	}
	var r MatchesResult
	err = Scan(ctx, t, pattern, 0, func(start, end int) bool {
		if len(r.Ranges) == limit {
			r.Truncated = true
			return false
		}
		r.Ranges = append(r.Ranges, rangeOf(t, start, end, p.Unit))
		return true
	})
	if err != nil {
		return MatchesResult{}, cancelled(err)
	}
	return r, nil
}

// ReplaceParams are the params of ReplaceAll.
type ReplaceParams struct {
	Buffer   ID
	Query    string
	With     string
	Options  match.Options
	Revision *int64
	Origin   Origin
}

// ReplaceResult is the result of ReplaceAll.
type ReplaceResult struct {
	Count    int
	Revision int64
}

// ReplaceAll replaces every match as one undo step (buffer.replaceAll).
func (s *Set) ReplaceAll(ctx context.Context, p ReplaceParams) (ReplaceResult, error) {
	pattern, err := match.Compile(p.Query, p.Options)
	if err != nil {
		return ReplaceResult{}, diskError("", err)
	}
	b, err := s.get(p.Buffer)
	if err != nil {
		return ReplaceResult{}, err
	}
	var r ReplaceResult
	err = b.transact(p.Revision, func(m moment) ([]text.Edit, commit, error) {
		edits, err := m.replacements(ctx, pattern, p)
		r.Count = len(edits)
		return edits, commit{origin: p.Origin.because("replace")}, err
	})
	if err != nil {
		return ReplaceResult{}, err
	}
	_, r.Revision, err = s.Snapshot(p.Buffer)
	return r, err
}

func (m moment) replacements(ctx context.Context, p *match.Pattern, params ReplaceParams) ([]text.Edit, error) {
	var edits []text.Edit
	expand := Expander(m.text, p, params.With, params.Options)
	err := Scan(ctx, m.text, p, 0, func(start, end int) bool {
		edits = append(edits, text.Edit{Start: start, End: end, Text: toStore(m.text, m.preferred, expand(start, end), end)})
		return true
	})
	if err != nil {
		return nil, cancelled(err)
	}
	return edits, nil
}

// A moment is a buffer at one revision, for computing what to commit.
type moment struct {
	text, saved text.Text
	modified    bool
	preferred   EOL
}

// transact computes edits from a snapshot and commits them if the revision
// still stands; else it computes them again. With a revision given, another one
// is stale.
func (b *Buffer) transact(revision *int64, compute func(moment) ([]text.Edit, commit, error)) error {
	for try := 0; ; try++ {
		b.mu.Lock()
		if err := b.checkLocked(revision); err != nil {
			b.mu.Unlock()
			return err
		}
		m := moment{b.store.Snapshot(), b.store.Saved(), b.modifiedLocked(), b.preferred}
		at := b.revision
		if try < commitTries {
			b.mu.Unlock()
		}
		edits, c, err := compute(m)
		if try < commitTries {
			b.mu.Lock()
		}
		if err != nil || b.closed || b.revision == at {
			if err == nil {
				if err = b.checkLocked(revision); err == nil {
					b.commitLocked(edits, c)
				}
			}
			b.mu.Unlock()
			return err
		}
		b.mu.Unlock()
	}
}

func (b *Buffer) checkLocked(revision *int64) error {
	if b.closed {
		return fail(NoBuffer, "buffer %s is closed", b.id)
	}
	if revision != nil && *revision != b.revision {
		return stale(b.revision)
	}
	return nil
}
