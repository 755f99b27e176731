package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// runTimeout bounds a whole run, agentTimeout one agent in it.
const (
	runTimeout   = 40 * time.Minute
	agentTimeout = 6 * time.Minute
)

// options are the command's flags; the inner process gets them again.
type options struct {
	agents  string
	cache   string
	binary  string
	matrix  string
	verbose bool
	list    bool
	inner   string // the home to cover; set only inside the namespaces
}

func parse() options {
	var o options
	flag.StringVar(&o.agents, "agents", "", "comma-separated names; default all")
	flag.StringVar(&o.cache, "cache", filepath.Join(".cache", "rig"), "folder for the installed packages")
	flag.StringVar(&o.binary, "dragoman", "", "binary to test; default: built here")
	flag.StringVar(&o.matrix, "matrix", "", "also write the matrix to this Markdown file")
	flag.BoolVar(&o.verbose, "v", false, "print every message")
	flag.BoolVar(&o.list, "list", false, "print the agents' names")
	flag.StringVar(&o.inner, "inner", "", "internal: run inside the namespaces, covering this home")
	flag.Parse()
	return o
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	code, err := run(ctx, parse())
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rig:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, o options) (int, error) {
	chosen, err := choose(o.agents)
	if err != nil {
		return 1, err
	}
	switch {
	case o.list:
		for _, a := range chosen {
			fmt.Println(a.name)
		}
		return 0, nil
	case o.inner != "":
		return runInner(ctx, o, chosen)
	}
	if o.cache, err = filepath.Abs(o.cache); err != nil {
		return 1, err
	}
	for _, a := range chosen {
		if err := install(ctx, o.cache, a); err != nil {
			return 1, err
		}
	}
	work, err := os.MkdirTemp("", "dragoman-rig-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(work)
	if o.binary == "" {
		o.binary = filepath.Join(work, "dragoman")
		if err := build(ctx, o.binary); err != nil {
			return 1, err
		}
	}
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return 1, err
	}
	matrix := filepath.Join(work, "matrix.md")
	code, err := enter(ctx, o, work, matrix)
	if err == nil && o.matrix != "" {
		b, readErr := os.ReadFile(matrix)
		if readErr != nil {
			return 1, readErr
		}
		err = os.WriteFile(o.matrix, b, 0o644)
	}
	return code, err
}

func choose(names string) ([]agent, error) {
	if names == "" {
		return agents, nil
	}
	var chosen []agent
	for _, name := range strings.Split(names, ",") {
		found := false
		for _, a := range agents {
			if a.name == name {
				chosen, found = append(chosen, a), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no agent %q; -list shows them", name)
		}
	}
	return chosen, nil
}
