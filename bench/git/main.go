// Git measures git.status of the core beside the git binary. See ../README.md.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"dragoman/bench/internal/child"
)

func main() {
	tracked := flag.Int("tracked", 20000, "files in the index")
	untracked := flag.Int("untracked", 2000, "files beside it")
	n := flag.Int("n", 7, "repetitions, of which the median counts")
	flag.Parse()
	if err := measure(*tracked, *untracked, *n); err != nil {
		fmt.Fprintln(os.Stderr, "git:", err)
		os.Exit(1)
	}
}

func measure(tracked, untracked, n int) error {
	dir, err := os.MkdirTemp("", "bench-git-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours := filepath.Join(dir, "dragoman")
	build := exec.Command("go", "build", "-o", ours, "./cmd/dragoman")
	build.Dir = ".." // the module that this one measures; run from bench/
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	root := filepath.Join(dir, "root")
	for _, err := range []error{
		fill(root, "t", tracked), git(root, "init", "-q"), git(root, "add", "-A"),
		git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"), fill(root, "u", untracked),
	} {
		if err != nil {
			return err
		}
	}
	argv := []string{ours, "core", "--stdio", "--state", filepath.Join(dir, "state"), "--root", root}
	_, err = child.Run(argv, func(in io.WriteCloser, out io.Reader) error {
		return compare(&core{in: in, out: bufio.NewReaderSize(out, 64<<20)}, root, n)
	})
	return err
}

// A core is one that answers a call at a time.
type core struct {
	in  io.Writer
	out *bufio.Reader
}

func (c *core) status() (time.Duration, error) {
	began := time.Now()
	if _, err := io.WriteString(c.in, `{"id":1,"op":"git.status"}`+"\n"); err != nil {
		return 0, err
	}
	for {
		line, err := c.out.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if bytes.HasPrefix(line, []byte(`{"id":1,"ok":true`)) {
			return time.Since(began), nil
		}
		if bytes.HasPrefix(line, []byte(`{"id"`)) {
			return 0, fmt.Errorf("answer %.300s", line)
		}
	}
}

// compare takes turns: git itself, a status after a change, a status after none.
func compare(c *core, root string, n int) error {
	if _, err := c.status(); err != nil {
		return err
	}
	var theirs, moved, still []time.Duration
	for i := range n {
		began := time.Now()
		if err := git(root, "--no-optional-locks", "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"); err != nil {
			return err
		}
		theirs = append(theirs, time.Since(began))
		// Something that git reads, and that the core must notice at once.
		if err := os.WriteFile(filepath.Join(root, ".git", "info", "exclude"), fmt.Appendf(nil, "none%d\n", i), 0o644); err != nil {
			return err
		}
		for _, to := range []*[]time.Duration{&moved, &still} {
			d, err := c.status()
			if err != nil {
				return err
			}
			*to = append(*to, d)
		}
	}
	g := child.Median(theirs)
	fmt.Printf("git %v; ours %v = %.2f x (target 1.1); nothing moved %v = %.3f x (target 0.05)\n",
		g, child.Median(moved), child.Median(moved).Seconds()/g.Seconds(),
		child.Median(still), child.Median(still).Seconds()/g.Seconds())
	return nil
}

func fill(root, kind string, n int) error {
	for i := range n {
		dir := filepath.Join(root, kind, fmt.Sprint(i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), fmt.Appendln(nil, i), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func git(root string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	return cmd.Run()
}
