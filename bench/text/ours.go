package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/recovery"
	"dragoman/internal/edit/text"
)

// listener is an observer that takes every event, as a hub does.
type listener struct{ changes, bytes int }

func (*listener) Units() [buffer.UnitCount]bool {
	return [buffer.UnitCount]bool{text.UTF8: true}
}
func (*listener) Opened(buffer.Info)               {}
func (*listener) Closed(buffer.ID, string, string) {}
func (*listener) Saved(buffer.Saved)               {}
func (*listener) Info(buffer.Info, []string)       {}
func (l *listener) Changed(c buffer.Change) {
	l.changes++
	for _, e := range c.Edits {
		l.bytes += len(e.Text)
	}
}

// ours does the edits through the buffer engine: positions, undo, events and
// the recovery log, all that a client's edit does but JSON.
func ours(file, list string) error {
	debug.SetGCPercent(buffer.GCPercent)
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	logs := recovery.Open(filepath.Join(filepath.Dir(list), "recovery"))
	defer logs.Close()
	l := &listener{}
	set := buffer.New(buffer.Options{Observer: l, Recovery: logs})
	start := time.Now()
	info, _, err := set.Open(context.Background(), buffer.OpenParams{Path: file})
	if err != nil {
		return err
	}
	load := time.Since(start)
	var took []uint32
	var edits time.Duration
	done := 0
	for batch := places(in); len(batch) > 0; batch = places(in) {
		start := time.Now()
		for i, p := range batch {
			// One in eight is timed by itself, so that the clock doesn't slow all.
			var one time.Time
			if i%8 == 0 {
				one = time.Now()
			}
			if _, err := set.Edit(buffer.EditParams{
				Buffer: info.Buffer, Edits: []buffer.Edit{{Range: buffer.Range{Start: p, End: p}, Text: "x"}},
			}); err != nil {
				return err
			}
			if i%8 == 0 {
				took = append(took, uint32(time.Since(one)))
			}
		}
		edits += time.Since(start)
		done += len(batch)
	}
	if l.changes != done {
		return fmt.Errorf("%d events of %d edits", l.changes, done)
	}
	info, err = set.Get(info.Buffer)
	if err != nil {
		return err
	}
	slices.Sort(took)
	err = json.NewEncoder(os.Stdout).Encode(result{
		LoadMs: ms(load), EditsMs: ms(edits), Bytes: int64(info.Bytes),
		P99Us: float64(took[len(took)*99/100]) / 1000,
	})
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// places reads some lines of the list; those that aren't places are left out,
// which the number of bytes at the end shows.
func places(in *bufio.Scanner) []text.Position {
	out := make([]text.Position, 0, 1000)
	for len(out) < cap(out) && in.Scan() {
		row, column, _ := strings.Cut(in.Text(), " ")
		l, err := strconv.Atoi(row)
		c, err2 := strconv.Atoi(column)
		if err == nil && err2 == nil {
			out = append(out, text.Position{Line: l, Character: c})
		}
	}
	return out
}
