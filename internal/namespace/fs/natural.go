package fs

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// compareNatural orders paths as people do: folder by folder, numbers by their
// value, case only where nothing else differs.
func compareNatural(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		nameA, nextA, _ := strings.Cut(restA, "/")
		nameB, nextB, _ := strings.Cut(restB, "/")
		if c := compareNames(nameA, nameB); c != 0 {
			return c
		}
		restA, restB = nextA, nextB
	}
	return cmp.Compare(len(restA), len(restB))
}

func compareNames(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		numA, numB := digits(restA), digits(restB)
		if numA > 0 && numB > 0 {
			if c := compareNumbers(restA[:numA], restB[:numB]); c != 0 {
				return c
			}
			restA, restB = restA[numA:], restB[numB:]
			continue
		}
		ra, na := utf8.DecodeRuneInString(restA)
		rb, nb := utf8.DecodeRuneInString(restB)
		if c := cmp.Compare(unicode.ToLower(ra), unicode.ToLower(rb)); c != 0 {
			return c
		}
		restA, restB = restA[na:], restB[nb:]
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), strings.Compare(a, b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
