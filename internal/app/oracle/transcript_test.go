//go:build unix

package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A transcript is one recorded conversation.
type transcript struct {
	name  string
	steps []step
}

// A step is what the host does, and what it then waits for.
type step struct {
	send   string   // a line, "" for none
	settle bool     // give what was sent before time to get somewhere
	end    bool     // close the sidecar's input
	expect []string // the lines that come before the next step
	exit   string   // the exit code that is then expected, "" for none
}

// loadTranscripts reads all files of testdata.
func loadTranscripts(t *testing.T) []transcript {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	var all []transcript
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list, err := parse(string(data))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, list...)
	}
	return all
}

var reference = regexp.MustCompile(`\$\{[a-z0-9]+\}`)

// parse reads a file: `let NAME JSON` defines what ${NAME} stands for, `==
// NAME` begins a transcript, whose lines are `> LINE` from the host, `< LINE`
// to it, `wait`, `end` and `exit CODE`.
func parse(text string) ([]transcript, error) {
	var all []transcript
	defined := map[string]string{}
	for n, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		rest = reference.ReplaceAllStringFunc(rest, func(ref string) string { return defined[ref] })
		if word == "" {
			continue
		}
		if word == "let" {
			name, value, _ := strings.Cut(rest, " ")
			defined["${"+name+"}"] = value
			continue
		}
		if word == "==" {
			all = append(all, transcript{name: rest, steps: []step{{}}})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("line %d stands outside a transcript", n+1)
		}
		t := &all[len(all)-1]
		last := &t.steps[len(t.steps)-1]
		switch word {
		case ">":
			t.steps = append(t.steps, step{send: rest})
		case "<":
			last.expect = append(last.expect, rest)
		case "wait":
			t.steps = append(t.steps, step{settle: true})
		case "end":
			t.steps = append(t.steps, step{end: true})
		case "exit":
			last.exit = rest
		default:
			return nil, fmt.Errorf("line %d: %q isn't known", n+1, word)
		}
	}
	return all, nil
}
