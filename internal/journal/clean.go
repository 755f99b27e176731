package journal

import (
	"bytes"
	"strings"

	"dragoman/internal/redact"
	"dragoman/wire/ndjson"
)

// appendClean appends the JSON value entry with every string redacted. Names
// of members stay.
func appendClean(dst []byte, r *redact.Redactor, entry []byte) []byte {
	for {
		open := bytes.IndexByte(entry, '"')
		if open < 0 {
			return append(dst, entry...)
		}
		dst = append(dst, entry[:open]...)
		entry = entry[open:]
		n := literal(entry)
		dst = appendCleanString(dst, r, entry[:n])
		entry = entry[n:]
	}
}

// literal is the length of the string literal at the start of b.
func literal(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func appendCleanString(dst []byte, r *redact.Redactor, raw []byte) []byte {
	if len(raw) < redact.MinValueLen+2 {
		return append(dst, raw...)
	}
	text := string(raw[1 : len(raw)-1])
	if strings.IndexByte(text, '\\') >= 0 {
		plain, err := ndjson.Unquote(nil, raw)
		if err != nil {
			return append(dst, raw...)
		}
		text = string(plain)
	}
	clean := r.String(text)
	if clean == text {
		return append(dst, raw...)
	}
	return ndjson.AppendQuote(dst, clean)
}
