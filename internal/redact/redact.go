// Package redact keeps secrets out of everything that outlives the moment:
// error messages, logs, journals and recordings. A text is cleaned by value
// (what the environment policy handed to a child) and by shape (keys and
// tokens that announce themselves).
//
// Everything here is pure and safe for concurrent use.
package redact

import (
	"net/url"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Mark stands where a secret was.
const Mark = "[REDACTED]"

// MinValueLen is the length in bytes below which a value isn't looked for: a
// secret of three letters can't be told from the text around it.
const MinValueLen = 4

// secretWords make a variable's name look secret.
var secretWords = []string{"AUTHORIZATION", "CREDENTIAL", "KEY", "PASSWORD", "SECRET", "TOKEN"}

// plainValues are values that say nothing, whatever their name.
var plainValues = map[string]bool{"true": true, "false": true, "none": true, "null": true, "auto": true}

// SecretName reports whether a variable or member of that name is expected to
// hold a secret.
func SecretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range secretWords {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// Secrets returns the values of vars (NAME=VALUE) whose names look secret, in
// their order and without repeats.
func Secrets(vars []string) []string {
	var values []string
	seen := map[string]bool{}
	for _, kv := range vars {
		name, value, ok := strings.Cut(kv, "=")
		if ok && usable(value) && !seen[value] && SecretName(name) {
			seen[value] = true
			values = append(values, value)
		}
	}
	return values
}

// Redact returns text without the values in secrets and without anything
// that has the shape of a credential. It is [New] for a single text.
func Redact(text string, secrets []string) string { return New(secrets).String(text) }

// A Redactor cleans texts of one set of secrets. The zero value cleans by
// shape only.
type Redactor struct {
	// values are the secrets and the forms in which they are written inside
	// JSON strings and URLs.
	values []string
}

// New returns a Redactor for secrets, which it copies. Values that are too
// short to be told from text are left out.
func New(secrets []string) *Redactor {
	r := &Redactor{}
	seen := map[string]bool{}
	for _, secret := range secrets {
		if !usable(secret) {
			continue
		}
		for _, form := range forms(secret) {
			if !seen[form] {
				seen[form] = true
				r.values = append(r.values, form)
			}
		}
	}
	return r
}

// String returns text with [Mark] for every secret.
func (r *Redactor) String(text string) string {
	return shapes(r.byValue(text))
}

// Excerpt is String for a piece cut out of a longer text, as the tail of what
// a running child prints is: the second half of a secret at its very start
// and the first half of one at its very end are hidden as well.
func (r *Redactor) Excerpt(text string) string {
	start, end := 0, len(text)
	for _, value := range r.values {
		for n := min(len(value)-1, len(text)); n >= MinValueLen; n-- {
			if strings.HasPrefix(text, value[len(value)-n:]) {
				start = max(start, n)
				break
			}
		}
		for n := min(len(value)-1, len(text)); n >= MinValueLen; n-- {
			if strings.HasSuffix(text, value[:n]) {
				end = min(end, len(text)-n)
				break
			}
		}
	}
	if start >= end && (start > 0 || end < len(text)) {
		return Mark
	}
	clean := r.String(text[start:end])
	if start > 0 {
		clean = Mark + clean
	}
	if end < len(text) {
		clean += Mark
	}
	return clean
}

// usable reports whether value can be looked for in a text: long enough, not
// a word of everyday, and not a part of Mark itself.
func usable(value string) bool {
	return len(value) >= MinValueLen && !plainValues[strings.ToLower(value)] && !strings.Contains(Mark, value)
}

func forms(secret string) []string {
	out := []string{secret}
	if quoted, err := jsontext.AppendQuote(nil, secret); err == nil {
		out = append(out, string(quoted[1:len(quoted)-1]))
	}
	return append(out, url.QueryEscape(secret), url.PathEscape(secret))
}

type span struct{ start, end int }

// byValue replaces all occurrences of the values. Occurrences that overlap
// become one mark, so that no half of a secret is left.
func (r *Redactor) byValue(text string) string {
	var found []span
	for _, value := range r.values {
		for from := 0; ; {
			i := strings.Index(text[from:], value)
			if i < 0 {
				break
			}
			found = append(found, span{from + i, from + i + len(value)})
			from += i + 1
		}
	}
	if len(found) == 0 {
		return text
	}
	sort.Slice(found, func(i, j int) bool { return found[i].start < found[j].start })
	var b strings.Builder
	end := 0
	for i := 0; i < len(found); {
		b.WriteString(text[end:found[i].start])
		b.WriteString(Mark)
		end = found[i].end
		for i++; i < len(found) && found[i].start <= end; i++ {
			end = max(end, found[i].end)
		}
	}
	b.WriteString(text[end:])
	return b.String()
}
