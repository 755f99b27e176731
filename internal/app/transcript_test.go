package app

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/wire/core"
)

// TestTranscripts plays testdata/core/*.txt against a whole core: a line
// that begins with > is sent, the others must come, in that order; "…" in
// one stands for anything. The files are also the examples of the reference
// pages, and every line of them is one that `validate core` takes.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../../testdata/core/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { play(t, f) })
	}
}

func play(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "notes.txt"), []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	input, toCore := io.Pipe()
	fromCore, output := io.Pipe()
	e := &Env{Stdio: Stdio{In: input, Out: output}, Environ: []string{"PATH=" + os.Getenv("PATH")}}
	roots, err := realRoots([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	b, err := buildCore(context.Background(), e, roots, "", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.serveStdio(e); output.Close() }()
	lines := bufio.NewReader(fromCore)
	check := core.NewChecker()
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if sent, ok := strings.CutPrefix(line, "> "); ok {
			if e := check.Check([]byte(sent)); e != nil && !strings.Contains(string(raw), `"ok":false`) {
				t.Errorf("%s: %v", sent, e)
			}
			if _, err := io.WriteString(toCore, sent+"\n"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got := next(t, lines)
		if e := check.Check([]byte(got)); e != nil {
			t.Errorf("%s: %v", got, e)
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
		if ok, _ := regexp.MatchString("^"+pattern+"$", got); !ok {
			t.Fatalf("got  %s\nwant %s", got, line)
		}
	}
	toCore.Close()
	go func() { _, _ = io.Copy(io.Discard, fromCore) }()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log.String())
	}
}

// next reads a line, but doesn't wait for ever.
func next(t *testing.T, lines *bufio.Reader) string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		line, _ := lines.ReadString('\n')
		got <- strings.TrimSuffix(line, "\n")
	}()
	select {
	case line := <-got:
		return line
	case <-time.After(30 * time.Second):
		t.Fatal("no line came")
		return ""
	}
}
