package match

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// MaxQuery is the longest query in bytes.
const MaxQuery = 64 << 10

// ErrEmpty says that a literal query is empty.
var ErrEmpty = errors.New("query is empty")

// A QueryError says why a query is none (bad_request, core.md §4).
type QueryError struct {
	Query string
	Err   error
}

// Error gives the reason.
func (e *QueryError) Error() string { return fmt.Sprintf("query: %v", e.Err) }

// Unwrap gives the reason.
func (e *QueryError) Unwrap() error { return e.Err }

// Options say how a query is read.
type Options struct {
	// Regex: the query is a regular expression, not a literal.
	Regex bool
	// IgnoreCase ignores case by Unicode simple folding.
	IgnoreCase bool
	// WholeWord takes only matches with no letter, digit or _ on either side.
	WholeWord bool
}

// A Pattern is a query that is ready to be searched for.
type Pattern struct {
	options Options
	// literal is the query if bytes.Index alone finds it.
	literal []byte
	// required is a literal that each match holds; empty: none is known.
	required []byte
	// rare finds the literal, or else the required one.
	rare    rare
	perLine bool
	source  string

	forward, backward *program
	machines          sync.Pool
	expression        func() *regexp.Regexp
}

// Compile reads a query. The error is a *QueryError.
func Compile(query string, o Options) (*Pattern, error) {
	p, err := compile(query, o)
	if err != nil {
		return nil, &QueryError{query, err}
	}
	return p, nil
}

func compile(query string, o Options) (*Pattern, error) {
	if len(query) > MaxQuery {
		return nil, fmt.Errorf("%d bytes, limit %d", len(query), MaxQuery)
	}
	if !utf8.ValidString(query) {
		return nil, errors.New("not UTF-8")
	}
	p := &Pattern{options: o}
	source := query
	if !o.Regex {
		if query == "" {
			return nil, ErrEmpty
		}
		query = strings.ReplaceAll(query, "\r\n", "\n")
		source = regexp.QuoteMeta(query)
		if !o.IgnoreCase {
			p.literal = []byte(query)
		}
	}
	flags := syntax.Perl &^ syntax.OneLine
	if o.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(dotNeverLineEnd(source), flags)
	if err != nil {
		return nil, err
	}
	p.source = tree.String()
	p.expression = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(p.source) })
	p.perLine = !consumesLineEnd(tree)
	p.required = []byte(requiredLiteral(tree.Simplify()))
	p.rare = newRare(p.Required())
	if p.literal != nil {
		return p, nil
	}
	if _, err := regexp.Compile(p.source); err != nil {
		return nil, err
	}
	if p.forward, err = newProgram(tree); err != nil {
		return nil, err
	}
	if p.backward, err = newProgram(reverse(tree)); err != nil {
		return nil, err
	}
	p.machines.New = func() any { return newMachine(p) }
	return p, nil
}

// Literal reports whether the query is found by its bytes alone.
func (p *Pattern) Literal() bool { return p.literal != nil }

// MinWindow is the most bytes that a literal match and what decides about it
// can take: windows of a text that overlap by as much lose no match.
func (p *Pattern) MinWindow() int { return len(p.literal) + 2*utf8.UTFMax }

// PerLine reports whether every match lies within one line, its end not
// included: then lines may be searched one by one.
func (p *Pattern) PerLine() bool { return p.perLine }

// Regexp is the pattern as the standard library's, for submatches. It doesn't
// know of WholeWord.
func (p *Pattern) Regexp() *regexp.Regexp { return p.expression() }

// Required is a literal that is in every text with a match, or empty.
func (p *Pattern) Required() []byte {
	if p.literal != nil {
		return p.literal
	}
	return p.required
}

// Each yields the matches of text in order, as FindAllIndex of the standard
// library would give them. A match that isn't a whole word where it has to be
// is left out, and the search goes on one character after its start.
func (p *Pattern) Each(text []byte, yield func(start, end int) bool) {
	p.EachFrom(text, 0, yield)
}

// EachFrom is Each for the matches that start at from or later; the text
// before from still decides about ^ and word boundaries.
func (p *Pattern) EachFrom(text []byte, from int, yield func(start, end int) bool) {
	if p.literal != nil {
		p.eachLiteral(text, from, yield)
		return
	}
	m := p.machines.Get().(*machine)
	defer p.machines.Put(m)
	for at, last := from, -1; at <= len(text); {
		start, end := p.next(m, text, at)
		if start < 0 {
			return
		}
		if p.options.WholeWord && !wholeWord(text, start, end) {
			at = start + width(text, start)
			continue
		}
		accept := true
		if end == at {
			accept = start != last
			at += width(text, at)
		} else {
			at = end
		}
		last = end
		if accept && !yield(start, end) {
			return
		}
	}
}

// width is the size of the character at off; 1 at the end, so that a search
// goes on past it.
func width(text []byte, off int) int {
	_, n := utf8.DecodeRune(text[off:])
	return max(n, 1)
}

func (p *Pattern) eachLiteral(text []byte, from int, yield func(start, end int) bool) {
	for at := from; ; {
		i := p.rare.index(text[at:])
		if i < 0 {
			return
		}
		start := at + i
		end := start + len(p.literal)
		if p.options.WholeWord && !wholeWord(text, start, end) {
			at = start + width(text, start)
			continue
		}
		if !yield(start, end) {
			return
		}
		at = end
	}
}

// next finds the leftmost match that starts at or after at, or -1.
func (p *Pattern) next(m *machine, text []byte, at int) (start, end int) {
	if len(p.required) == 0 {
		return m.find(text, at, len(text))
	}
	if !p.perLine {
		if !p.rare.in(text[at:]) {
			return -1, -1
		}
		return m.find(text, at, len(text))
	}
	for at <= len(text) {
		i := p.rare.index(text[at:])
		if i < 0 {
			break
		}
		line := at + bytes.LastIndexByte(text[at:at+i], '\n') + 1
		stop := len(text)
		if n := bytes.IndexByte(text[at+i:], '\n'); n >= 0 {
			stop = at + i + n
		}
		if start, end := m.find(text, line, stop); start >= 0 {
			return start, end
		}
		at = stop + 1
	}
	return -1, -1
}

// wholeWord reports whether no word character stands on either side.
func wholeWord(text []byte, start, end int) bool {
	if start > 0 {
		if r, _ := utf8.DecodeLastRune(text[:start]); isWord(r) {
			return false
		}
	}
	if end < len(text) {
		if r, _ := utf8.DecodeRune(text[end:]); isWord(r) {
			return false
		}
	}
	return true
}

// isWord reports whether r is part of a word: a letter, a digit or _.
func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}
