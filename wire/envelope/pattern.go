package envelope

import "time"

// The lengths of names on the wire (envelope.md "Fields").
const (
	MaxIDBytes         = 128 // messageId and requestId
	MaxCapabilityBytes = 128 // capabilities, operations and event names
	MaxCodeBytes       = 64  // error codes
)

// ValidID reports whether s may be a messageId or requestId.
func ValidID(s string) bool { return validID([]byte(s)) }

// ValidCapability reports whether s may be a capability, operation or event
// name.
func ValidCapability(s string) bool { return validCapability([]byte(s)) }

// ValidCode reports whether s may be an error code.
func ValidCode(s string) bool { return validCode([]byte(s)) }

func digit(c byte) bool { return '0' <= c && c <= '9' }
func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func upper(c byte) bool { return 'A' <= c && c <= 'Z' }

func validID(s []byte) bool {
	if len(s) == 0 || len(s) > MaxIDBytes {
		return false
	}
	for i, c := range s {
		switch {
		case digit(c), lower(c), upper(c):
		case i > 0 && (c == '.' || c == '_' || c == ':' || c == '-'):
		default:
			return false
		}
	}
	return true
}

func validCapability(s []byte) bool {
	if len(s) == 0 || len(s) > MaxCapabilityBytes || !lower(s[0]) {
		return false
	}
	for _, c := range s[1:] {
		if !digit(c) && !lower(c) && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func validCode(s []byte) bool {
	if len(s) == 0 || len(s) > MaxCodeBytes || !upper(s[0]) {
		return false
	}
	for _, c := range s[1:] {
		if !digit(c) && !upper(c) && c != '_' {
			return false
		}
	}
	return true
}

// parseVersion reads `major.minor`, each up to six digits without leading
// zeros.
func parseVersion(s []byte) (Version, bool) {
	major, rest, ok := versionPart(s)
	if !ok || len(rest) == 0 || rest[0] != '.' {
		return Version{}, false
	}
	minor, rest, ok := versionPart(rest[1:])
	return Version{major, minor}, ok && len(rest) == 0
}

func versionPart(s []byte) (n int, rest []byte, ok bool) {
	i := 0
	for ; i < len(s) && i < 6 && digit(s[i]); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n, s[i:], i == 1 || i > 1 && s[0] != '0'
}

// validTime reports whether s is an RFC 3339 date-time with an upper-case T,
// `Z` or ±hh:mm, on a real date and without a second 60.
func validTime(s []byte) bool {
	const shape = "dddd-dd-ddTdd:dd:dd"
	if len(s) <= len(shape) {
		return false
	}
	for i := range len(shape) {
		if shape[i] == 'd' && !digit(s[i]) || shape[i] != 'd' && s[i] != shape[i] {
			return false
		}
	}
	month, day := pair(s[5:]), pair(s[8:])
	if month < 1 || month > 12 || day < 1 || day > daysIn(pair(s)*100+pair(s[2:]), month) {
		return false
	}
	if pair(s[11:]) > 23 || pair(s[14:]) > 59 || pair(s[17:]) > 59 {
		return false
	}
	return validZone(skipFraction(s[len(shape):]))
}

// skipFraction returns what follows a fraction of a second, or nil if the
// fraction has no digit.
func skipFraction(s []byte) []byte {
	if s[0] != '.' {
		return s
	}
	i := 1
	for i < len(s) && digit(s[i]) {
		i++
	}
	if i == 1 {
		return nil
	}
	return s[i:]
}

func validZone(s []byte) bool {
	if len(s) == 1 {
		return s[0] == 'Z'
	}
	return len(s) == len("+hh:mm") && (s[0] == '+' || s[0] == '-') && s[3] == ':' &&
		digit(s[1]) && digit(s[2]) && digit(s[4]) && digit(s[5]) &&
		pair(s[1:]) <= 23 && pair(s[4:]) <= 59
}

func pair(s []byte) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

func daysIn(year, month int) int {
	// The zeroth day of the next month is this month's last.
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
