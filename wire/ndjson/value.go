package ndjson

// Members returns the members of a JSON object with spans into value.
func Members(value []byte) ([]Member, error) { panic("todo") }

// Get follows path through objects by exact keys and returns the bytes of the
// value there. The value must be valid JSON.
func Get(value []byte, path ...string) (raw []byte, kind Kind, ok bool) { panic("todo") }

// Unquote appends the text of a JSON string literal to dst.
func Unquote(dst, raw []byte) ([]byte, error) { panic("todo") }

// AppendQuote appends s as a JSON string literal with no more escapes than
// JSON needs. Invalid UTF-8 becomes U+FFFD.
func AppendQuote(dst []byte, s string) []byte { panic("todo") }

// Cut returns a valid JSON object without one top-level member, the other
// bytes as they were. Without that member it returns object itself.
func Cut(object []byte, key string) []byte { panic("todo") }

// Repair appends the lenient reading of a line to dst: invalid UTF-8 and lone
// surrogates become U+FFFD, and of duplicate keys the last counts. changed
// tells whether that made a difference; if not, fixed is line itself. A line
// that still isn't JSON gives a [*SyntaxError].
func Repair(dst, line []byte) (fixed []byte, changed bool, err error) { panic("todo") }
