package match

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// consumesLineEnd reports whether a match of re can hold a line end, or looks
// for the end of the whole text, so that lines can't be searched one by one.
func consumesLineEnd(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
		return false
	case syntax.OpAnyChar, syntax.OpBeginText, syntax.OpEndText:
		return true
	}
	return slices.ContainsFunc(re.Sub, consumesLineEnd)
}

// reverse gives the expression of the same words read backwards.
func reverse(re *syntax.Regexp) *syntax.Regexp {
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = reverse(sub)
	}
	switch re.Op {
	case syntax.OpConcat:
		slices.Reverse(out.Sub)
	case syntax.OpLiteral:
		out.Rune = slices.Clone(re.Rune)
		slices.Reverse(out.Rune)
	case syntax.OpBeginLine:
		out.Op = syntax.OpEndLine
	case syntax.OpEndLine:
		out.Op = syntax.OpBeginLine
	case syntax.OpBeginText:
		out.Op = syntax.OpEndText
	case syntax.OpEndText:
		out.Op = syntax.OpBeginText
	case syntax.OpCapture:
		return out.Sub[0]
	}
	return &out
}

// requiredLiteral gives the longest literal that every match of re holds.
func requiredLiteral(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiteral(re.Sub[0])
		}
	case syntax.OpConcat:
		return requiredInConcat(re.Sub)
	}
	return ""
}

// requiredInConcat joins literals that follow each other.
func requiredInConcat(subs []*syntax.Regexp) string {
	best, run := "", ""
	for _, sub := range subs {
		if sub.Op == syntax.OpLiteral && literalOf(sub) != "" {
			run += literalOf(sub)
		} else {
			run = ""
			if s := requiredLiteral(sub); len(s) > len(best) {
				best = s
			}
		}
		if len(run) > len(best) {
			best = run
		}
	}
	return best
}

// literalOf gives a literal's text; empty if case is ignored where it matters.
func literalOf(re *syntax.Regexp) string {
	if re.Flags&syntax.FoldCase != 0 && slices.ContainsFunc(re.Rune, folds) {
		return ""
	}
	if slices.Contains(re.Rune, utf8.RuneError) {
		return ""
	}
	return string(re.Rune)
}
