// Package fuzzy ranks paths by how well they match a query whose characters may
// be spread over them (core.md §6 project.files).
//
// A match scores more the more of its characters follow each other, begin a
// word or a name, or have the query's case, and the more of it lies in the
// path's last name; a shorter path wins among equals.
//
// # Concurrency
//
// Functions only; each may be called from any goroutine.
package fuzzy

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Hit is one path that matches.
type Hit struct {
	// Index is the path's place in the list.
	Index int
	// Score is higher for better matches.
	Score int
	// Positions of the query's characters, in code points of the path.
	Positions []int
}

// Points of a match.
const (
	perChar     = 16
	consecutive = 12
	wordStart   = 10
	nameStart   = 14
	sameCase    = 1
	inName      = 24
	gap         = -1
	maxGap      = -12
)

// Rank gives the best limit paths for a query, the best first, and how many
// match at all. Spaces in the query don't count; an empty one matches
// everything in order. It ends early with ctx's error.
func Rank(ctx context.Context, paths []string, query string, limit int) (best []Hit, total int, err error) {
	query = strings.ReplaceAll(query, " ", "")
	if query == "" {
		for i := range min(limit, len(paths)) {
			best = append(best, Hit{Index: i})
		}
		return best, len(paths), ctx.Err()
	}
	workers := min(runtime.GOMAXPROCS(0), len(paths)/1000+1)
	found := make([][]Hit, workers)
	var wg sync.WaitGroup
	for w := range workers {
		from, to := len(paths)*w/workers, len(paths)*(w+1)/workers
		wg.Go(func() { found[w] = rankPart(ctx, paths, from, to, query) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	all := slices.Concat(found...)
	total = len(all)
	best = top(all, paths, limit)
	m := newMatcher(query)
	for i := range best {
		best[i].Positions = m.positions(paths[best[i].Index])
	}
	return best, total, nil
}

// checkEvery is how many paths are ranked between two looks at the context.
const checkEvery = 4096

func rankPart(ctx context.Context, paths []string, from, to int, query string) (out []Hit) {
	m := newMatcher(query)
	for i := from; i < to; i++ {
		if (i-from)%checkEvery == 0 && ctx.Err() != nil {
			return nil
		}
		if score, ok := m.score(paths[i]); ok {
			out = append(out, Hit{Index: i, Score: score})
		}
	}
	return out
}

// top sorts out the best hits: only those that may be among them are sorted.
func top(all []Hit, paths []string, limit int) []Hit {
	compare := func(a, b Hit) int {
		return cmp.Or(
			cmp.Compare(b.Score, a.Score),
			cmp.Compare(len(paths[a.Index]), len(paths[b.Index])),
			cmp.Compare(a.Index, b.Index),
		)
	}
	for len(all) > 4*limit {
		kept := cut(all, limit, compare)
		if len(kept) == len(all) {
			break
		}
		all = kept
	}
	slices.SortFunc(all, compare)
	return slices.Clip(all[:min(limit, len(all))])
}

// cut drops hits worse than a sample's, as long as enough are left.
func cut(all []Hit, limit int, compare func(a, b Hit) int) []Hit {
	sample := make([]Hit, 0, 64)
	for i := 0; i < len(all); i += max(len(all)/64, 1) {
		sample = append(sample, all[i])
	}
	slices.SortFunc(sample, compare)
	pivot := sample[min(len(sample)*limit*2/len(all)+1, len(sample)-1)]
	kept := make([]Hit, 0, len(all)/2)
	for _, h := range all {
		if compare(h, pivot) <= 0 {
			kept = append(kept, h)
		}
	}
	if len(kept) < limit {
		return all
	}
	return kept
}

// A matcher matches one query; it is used by one goroutine.
type matcher struct {
	// query and lower are code points; ascii is lower if all are ASCII.
	query, lower []rune
	ascii        []byte
	path         []rune
	at           []int
}

func newMatcher(query string) *matcher {
	m := &matcher{query: []rune(query), ascii: []byte{}}
	for _, r := range m.query {
		l := unicode.ToLower(r)
		m.lower = append(m.lower, l)
		if l >= utf8.RuneSelf {
			m.ascii = nil
		}
		if m.ascii != nil {
			m.ascii = append(m.ascii, byte(l))
		}
	}
	m.at = make([]int, len(m.query))
	return m
}

// hopeless finds out fast that an ASCII query doesn't match.
func (m *matcher) hopeless(path string) bool {
	if m.ascii == nil {
		return false
	}
	q := 0
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c >= utf8.RuneSelf {
			return false
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c == m.ascii[q] {
			if q++; q == len(m.ascii) {
				return false
			}
		}
	}
	return true
}

func (m *matcher) score(path string) (int, bool) {
	if m.hopeless(path) {
		return 0, false
	}
	m.path = m.path[:0]
	for _, r := range path {
		m.path = append(m.path, r)
	}
	name := len(m.path)
	for name > 0 && m.path[name-1] != '/' {
		name--
	}
	best, ok := 0, false
	if m.align(name) {
		best, ok = m.points(name)+inName, true
	}
	if !ok && m.align(0) {
		best, ok = m.points(name), true
	}
	return best, ok
}

// align finds where the query's characters are from a place on: the first match
// to end, made as short as it gets.
func (m *matcher) align(from int) bool {
	q, end := 0, -1
	for i := from; i < len(m.path); i++ {
		if fold(m.path[i]) == m.lower[q] {
			if q++; q == len(m.lower) {
				end = i
				break
			}
		}
	}
	if end < 0 {
		return false
	}
	q = len(m.lower) - 1
	for i := end; q >= 0; i-- {
		if fold(m.path[i]) == m.lower[q] {
			m.at[q] = i
			q--
		}
	}
	m.advance()
	return true
}

// advance moves characters on to the start of a word where that changes
// nothing for those behind them.
func (m *matcher) advance() {
	for q := len(m.at) - 1; q >= 0; q-- {
		limit := len(m.path)
		if q+1 < len(m.at) {
			limit = m.at[q+1]
		}
		if q > 0 && m.at[q] == m.at[q-1]+1 || m.starts(m.at[q]) {
			continue
		}
		for i := m.at[q] + 1; i < limit; i++ {
			if fold(m.path[i]) == m.lower[q] && m.starts(i) {
				m.at[q] = i
				break
			}
		}
	}
}

func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}

// starts reports whether a word begins at i.
func (m *matcher) starts(i int) bool {
	if i == 0 {
		return true
	}
	before, here := m.path[i-1], m.path[i]
	switch before {
	case '/', '_', '-', '.', ' ':
		return true
	}
	return unicode.IsUpper(here) && unicode.IsLower(before) || unicode.IsDigit(here) && !unicode.IsDigit(before)
}

func (m *matcher) points(name int) (score int) {
	for q, i := range m.at {
		score += perChar
		if m.path[i] == m.query[q] {
			score += sameCase
		}
		switch {
		case i == name || i == 0:
			score += nameStart
		case m.starts(i):
			score += wordStart
		}
		if q > 0 {
			if d := i - m.at[q-1] - 1; d == 0 {
				score += consecutive
			} else {
				score += max(gap*d, maxGap)
			}
		}
	}
	return score
}

// positions gives where the query's characters are in a path that matches.
func (m *matcher) positions(path string) []int {
	m.score(path)
	return slices.Clone(m.at)
}
