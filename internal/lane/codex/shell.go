package codex

import (
	"path/filepath"
	"slices"
	"strings"
)

// shells take a script as the argument after one of scriptFlags.
var (
	shells      = []string{"sh", "bash", "zsh", "dash"}
	scriptFlags = []string{"-c", "-lc"}
)

// shellScript is the script of `bash -lc SCRIPT`; ok is false for any other
// argv.
func shellScript(argv []string) (script string, ok bool) {
	if len(argv) == 3 && slices.Contains(shells, filepath.Base(argv[0])) && slices.Contains(scriptFlags, argv[1]) {
		return argv[2], true
	}
	return "", false
}

// split takes a command line, as the agent quotes it, apart. ok is false where
// it holds anything that a shell would read as more than words: then only the
// shell knows what it runs.
func split(line string) (words []string, ok bool) {
	var word strings.Builder
	var quote byte
	inWord := false
	for i := 0; i < len(line); i++ {
		ch := line[i]
		switch {
		case quote == '\'' && ch != '\'':
			word.WriteByte(ch)
		case quote != 0 && ch == quote:
			quote = 0
		case quote == '"' && ch == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0,
			quote == 0 && ch == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inWord = true
		case quote == '"':
			if ch == '$' || ch == '`' {
				return nil, false
			}
			word.WriteByte(ch)
		case ch == '\'' || ch == '"':
			quote, inWord = ch, true
		case ch == ' ' || ch == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case strings.IndexByte("$`;&|<>()*?[]{}!#~\n\\", ch) >= 0:
			return nil, false
		default:
			word.WriteByte(ch)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, quote == 0 && len(words) > 0
}
