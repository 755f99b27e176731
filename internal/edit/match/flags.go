package match

import "strings"

// dotNeverLineEnd takes the flag s out of a query's flag groups, so that . is
// never a line end. Other ways to write a line end stay.
func dotNeverLineEnd(query string) string {
	if !strings.Contains(query, "(?") {
		return query
	}
	var out strings.Builder
	for i := 0; i < len(query); {
		n := token(query[i:])
		if n == 2 && query[i:i+2] == "(?" {
			group := query[i:]
			if end := strings.IndexAny(group, ":)"); end >= 0 && strings.Trim(group[2:end], "imsU-") == "" {
				out.WriteString("(?" + withoutS(group[2:end]))
				i += end
				continue
			}
		}
		out.WriteString(query[i : i+n])
		i += n
	}
	return out.String()
}

// token gives the length of what belongs together at the start of a query: an
// escape, a quotation, a class, the start of a group, or one byte.
func token(q string) int {
	switch {
	case strings.HasPrefix(q, `\Q`):
		if end := strings.Index(q, `\E`); end >= 0 {
			return end + 2
		}
		return len(q)
	case q[0] == '\\':
		return min(2, len(q))
	case strings.HasPrefix(q, "(?"):
		return 2
	case q[0] == '[':
		return class(q)
	}
	return 1
}

// class gives the length of the character class at the start of q.
func class(q string) int {
	i := 1
	if strings.HasPrefix(q[i:], "^") {
		i++
	}
	if strings.HasPrefix(q[i:], "]") {
		i++
	}
	for i < len(q) {
		switch {
		case q[i] == ']':
			return i + 1
		case q[i] == '\\':
			i++
		case strings.HasPrefix(q[i:], "[:"):
			if end := strings.Index(q[i:], ":]"); end >= 0 {
				i += end + 1
			}
		}
		i++
	}
	return len(q)
}

// withoutS turns flags such as "is" into "i-s".
func withoutS(flags string) string {
	on, off, _ := strings.Cut(flags, "-")
	if !strings.Contains(on, "s") {
		return flags
	}
	return strings.ReplaceAll(on, "s", "") + "-" + off + "s"
}
