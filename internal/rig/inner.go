package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/testmodel"
)

// runInner is the part inside the namespaces.
func runInner(ctx context.Context, o options, chosen []agent) (int, error) {
	dir, err := settle(o)
	if err != nil {
		return 1, err
	}
	model, err := testmodel.Start("")
	if err != nil {
		return 1, err
	}
	defer model.Close()
	m := &matrix{}
	for _, a := range chosen {
		var cells []cell
		for try := 1; try <= maxTries; try++ {
			p := place{agents: dir, home: filepath.Join(o.inner, "rig", fmt.Sprint(a.name, try)), model: model.URL()}
			if err := p.furnish(a); err != nil {
				return 1, err
			}
			cells = again(cells, runAgent(ctx, o, a, p))
			if !failed(cells) {
				break
			}
		}
		m.add(a.name, cells)
	}
	fmt.Print(m.table())
	if o.matrix != "" {
		if err := os.WriteFile(o.matrix, []byte(m.document(chosen)), 0o644); err != nil {
			return 1, err
		}
	}
	fmt.Printf("\n%d passed, %d failed\n", m.passed, m.failed)
	if m.failed > 0 {
		return 1, nil
	}
	return 0, nil
}

// maxTries: a real agent is a moving program on a busy machine, so one with a
// failed cell is run once more from the start. The matrix says which cells
// needed it.
const maxTries = 2

// furnish makes the place's folders and the agent's configuration.
func (p *place) furnish(a agent) error {
	p.cwd = filepath.Join(p.home, "work")
	if err := os.MkdirAll(p.cwd, 0o700); err != nil {
		return err
	}
	if a.prepare == nil {
		return nil
	}
	return a.prepare(*p)
}

// again joins a first try with a second: a cell that failed only once passes,
// with what went wrong the first time.
func again(first, second []cell) []cell {
	for i, c := range first {
		if c.word == "FAIL" && second[i].word == "pass" {
			second[i].note = "on the second try; the first: " + c.note
		}
	}
	return second
}

func failed(cells []cell) bool {
	return slices.ContainsFunc(cells, func(c cell) bool { return c.word == "FAIL" })
}

func runAgent(ctx context.Context, o options, a agent, p place) []cell {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	r := &runner{o: o, agent: a, place: p}
	defer r.drop()
	var cells []cell
	for _, s := range scenarios {
		if why, ok := a.cant[s.name]; ok {
			cells = append(cells, cell{word: "can't", note: why})
			continue
		}
		began := time.Now()
		limited, stop := context.WithTimeout(ctx, turnLimit)
		err := s.run(limited, r)
		stop()
		c := cell{word: "pass"}
		var cant *cantError
		switch {
		case errors.As(err, &cant):
			c = cell{word: "can't", note: cant.why}
		case err != nil:
			c = cell{word: "FAIL", note: err.Error()}
			r.drop()
		}
		fmt.Fprintf(os.Stderr, "rig: %-14s %-18s %-5s %6.1fs %s\n", a.name, s.name, c.word, time.Since(began).Seconds(), c.note)
		cells = append(cells, c)
	}
	return cells
}

// others lists the processes of the namespace that aren't this one, after
// giving them a moment to be reaped.
func others() []string {
	var left []string
	for range 50 {
		left = nil
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return []string{err.Error()}
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			if line := commandLine(pid); line != "" {
				left = append(left, fmt.Sprintf("%d %.80s", pid, line))
			}
		}
		reap()
		if len(left) == 0 {
			return nil
		}
		pause(20 * time.Millisecond)
	}
	return left
}

// commandLine is "" for a process that has ended.
func commandLine(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
}

func commandRuns(part string) bool {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && strings.Contains(commandLine(pid), part) {
			return true
		}
	}
	return false
}

func waitFor(ctx context.Context, holds func() bool) error {
	for !holds() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause(50 * time.Millisecond)
	}
	return nil
}

func pause(d time.Duration) { <-time.After(d) }
