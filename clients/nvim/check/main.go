// Command check proves the Neovim plugin: it starts a core, the real Neovim
// with the plugin, and a Go client, lets both edit one file at once, and
// compares what they show. Run it from the repository's top:
//
//	go run ./clients/nvim/check
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// roundLimit bounds one round; a loaded machine takes its time.
const roundLimit = 2 * time.Minute

// options are the command's flags.
type options struct {
	nvim, dragoman, plugin string
	rounds, edits          int
}

func main() {
	var o options
	flag.StringVar(&o.nvim, "nvim", "nvim", "the Neovim to run")
	flag.StringVar(&o.dragoman, "dragoman", "", "the binary to test; default: built here")
	flag.StringVar(&o.plugin, "plugin", filepath.Join("clients", "nvim"), "the plugin's folder")
	flag.IntVar(&o.rounds, "rounds", 8, "rounds, each with its own random edits")
	flag.IntVar(&o.edits, "edits", 150, "edits of each client a round")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "dragoman-nvim-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.plugin, err = filepath.Abs(o.plugin); err != nil {
		return err
	}
	if o.dragoman == "" {
		o.dragoman = filepath.Join(dir, "dragoman")
		if err := command(ctx, "go", "build", "-o", o.dragoman, "./cmd/dragoman").Run(); err != nil {
			return fmt.Errorf("go build: %w", err)
		}
	}
	for seed := 1; seed <= o.rounds; seed++ {
		work := filepath.Join(dir, fmt.Sprint("round", seed))
		r := round{o: o, seed: seed, dir: work, root: filepath.Join(work, "root")}
		limited, cancel := context.WithTimeout(ctx, roundLimit)
		err := r.run(limited)
		cancel()
		if err != nil {
			return fmt.Errorf("round %d: %w", seed, err)
		}
	}
	fmt.Printf("ok: %d rounds of %d edits by each of Neovim and Go on one buffer, all texts the same\n", o.rounds, o.edits)
	return nil
}
