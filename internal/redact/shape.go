package redact

import (
	"regexp"
	"strings"
)

// A shape is a kind of credential that can be told by its looks. The
// replacement keeps what tells people which kind it was.
type shape struct {
	// any: the pattern is only tried on a text with one of these in it, since
	// matching costs a hundred times the look.
	any     []string
	pattern *regexp.Regexp
	with    string
}

// keyBody is what stands between the lines of a PEM block, also when the
// block is part of a JSON string.
const keyBody = `[A-Za-z0-9+/=\s\\:,-]*`

var shapeTable = []shape{
	{[]string{"PRIVATE KEY-----"}, regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:` + keyBody + `?-----END [A-Z0-9 ]*PRIVATE KEY-----|` + keyBody + `)`), Mark},
	{[]string{"earer", "EARER"}, regexp.MustCompile(`(?i)\b(bearer)(\s+)[A-Za-z0-9._~+/=-]{8,}`), "${1}${2}" + Mark},
	{[]string{"uthorization", "UTHORIZATION"}, regexp.MustCompile(`(?i)\b(authorization["']?\s*[:=]\s*["']?(?:basic\s+|token\s+)?)[A-Za-z0-9._~+/=-]{8,}`), "${1}" + Mark},
	{[]string{"sk-", "pk-", "rk-"}, regexp.MustCompile(`\b[spr]k-[A-Za-z0-9_-]{12,}`), Mark},
	{[]string{"sk_", "rk_"}, regexp.MustCompile(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{12,}`), Mark},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{16,}`), Mark},
	{[]string{"github_pat_"}, regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{16,}`), Mark},
	{[]string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`), Mark},
	{[]string{"npm_"}, regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}`), Mark},
	{[]string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{24,}`), Mark},
	{[]string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), Mark},
	{[]string{"AIza"}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`), Mark},
	{[]string{"ya29."}, regexp.MustCompile(`\bya29\.[A-Za-z0-9_-]{16,}`), Mark},
	{[]string{"AKIA", "ASIA"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), Mark},
	{[]string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`), Mark},
	// NAME=value as shells and dotenv files write it. Upper case only: a
	// count of tokens in somebody's JSON is no secret.
	{[]string{"KEY=", "TOKEN=", "SECRET=", "PASSWORD=", "CREDENTIAL", "_KEY_", "_TOKEN_", "_SECRET_"}, regexp.MustCompile(`\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)(?:_[A-Z0-9_]+)?=["']?)[^\s"'\\,;]{6,}`), "${1}" + Mark},
}

func shapes(text string) string {
	for i := range shapeTable {
		if s := &shapeTable[i]; s.mayMatch(text) {
			text = s.pattern.ReplaceAllString(text, s.with)
		}
	}
	return text
}

func (s *shape) mayMatch(text string) bool {
	for _, word := range s.any {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
