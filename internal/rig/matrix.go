package main

import (
	"fmt"
	"strings"
)

// A cell is one agent's result in one scenario.
type cell struct{ word, note string }

// matrix collects rows; its Markdown is what docs/ keeps.
type matrix struct {
	names          []string
	rows           [][]cell
	passed, failed int
}

func (m *matrix) add(name string, cells []cell) {
	m.names, m.rows = append(m.names, name), append(m.rows, cells)
	for _, c := range cells {
		switch c.word {
		case "pass":
			m.passed++
		case "FAIL":
			m.failed++
		}
	}
}

// document is the file that docs/ keeps: the table with what was run.
func (m *matrix) document(chosen []agent) string {
	var b strings.Builder
	b.WriteString("# What real agents do through dragoman\n\n" +
		"Made by `go run ./internal/rig -matrix FILE`: each agent is the real program from npm, in namespaces with\n" +
		"loopback only, against the scripted model server. can't: the agent has no way to do it, for the reason below.\n\n")
	b.WriteString(m.table())
	b.WriteString("\n| agent | packages |\n|---|---|\n")
	for _, a := range chosen {
		var names []string
		for _, set := range a.packages {
			names = append(names, set.names...)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", a.name, strings.Join(names, " "))
	}
	return b.String()
}

func (m *matrix) table() string {
	var b strings.Builder
	b.WriteString("| agent |")
	for _, s := range scenarios {
		fmt.Fprintf(&b, " %s |", s.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(scenarios)) + "\n")
	var notes []string
	for i, name := range m.names {
		fmt.Fprintf(&b, "| %s |", name)
		for j, c := range m.rows[i] {
			fmt.Fprintf(&b, " %s |", c.word)
			if c.note != "" {
				notes = append(notes, fmt.Sprintf("- %s, %s: %s", name, scenarios[j].name, strings.ReplaceAll(c.note, "\n", " ")))
			}
		}
		b.WriteString("\n")
	}
	if notes != nil {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	return b.String()
}
