package preset

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// A versionRange is a list of bounds that must all hold, like ">=1.2 <2".
type versionRange []bound

type bound struct{ op, version string }

// parseRange reads a range; "" holds every version.
func parseRange(s string) (versionRange, error) {
	var r versionRange
	for _, field := range strings.Fields(s) {
		digits := strings.TrimLeft(field, "<>=")
		b := bound{op: field[:len(field)-len(digits)], version: "v" + digits}
		switch b.op {
		case ">=", "<", "<=", ">", "=":
		default:
			return nil, fmt.Errorf("%q isn't a bound like >=1.2", field)
		}
		if !semver.IsValid(b.version) {
			return nil, fmt.Errorf("%q isn't a version", digits)
		}
		r = append(r, b)
	}
	return r, nil
}

// Outside reports whether version is known and lies outside of what was
// tried. Agents may put a word before the number.
func (p *Preset) Outside(version string) bool {
	version = version[strings.LastIndexByte(strings.TrimSpace(version), ' ')+1:]
	r, err := parseRange(p.Checked)
	return err == nil && p.Checked != "" && semver.IsValid("v"+version) && !r.holds(version)
}

func (r versionRange) holds(version string) bool {
	v := "v" + version
	if !semver.IsValid(v) {
		return false
	}
	for _, b := range r {
		c := semver.Compare(v, b.version)
		ok := map[string]bool{">=": c >= 0, ">": c > 0, "<": c < 0, "<=": c <= 0, "=": c == 0}[b.op]
		if !ok {
			return false
		}
	}
	return true
}
