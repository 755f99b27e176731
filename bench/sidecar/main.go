// Sidecar measures `dragoman serve` beside another a4aa.v1 sidecar, in one
// run: chunk events from an agent to the host, pings, the first answer, and
// memory. See ../README.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	as := flag.String("as", "", `"agent": be the agent that floods, instead of measuring`)
	peer := flag.String("peer", "a4aa", "the other sidecar's binary; without one only ours is measured")
	reps := flag.Int("n", 3, "repetitions, of which the median counts")
	flag.Parse()
	if *as == "agent" {
		if err := flood(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := measure(*peer, *reps); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A load is a flood of chunks of one size.
type load struct {
	name         string
	bytes, count int
}

var loads = []load{{"40 B", 40, 200_000}, {"2 KiB", 2048, 60_000}, {"64 KiB", 65536, 4000}}

const pings = 200_000

func measure(peer string, reps int) error {
	dir, err := os.MkdirTemp("", "bench-sidecar-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours := filepath.Join(dir, "dragoman")
	build := exec.Command("go", "build", "-o", ours, "./cmd/dragoman")
	build.Dir = ".." // the module that this one measures; run from bench/
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	sides := []side{{"ours", ours}}
	if path, err := exec.LookPath(peer); err == nil {
		sides = append(sides, side{"peer", path})
	} else {
		fmt.Printf("no %s here: ours alone, so there are no ratios\n", peer)
	}
	runs := map[string]map[string][]float64{} // figure, side
	for range reps {
		for _, s := range sides {
			figures, err := s.run()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			for figure, v := range figures {
				if runs[figure] == nil {
					runs[figure] = map[string][]float64{}
				}
				runs[figure][s.name] = append(runs[figure][s.name], v)
			}
		}
	}
	report(runs, len(sides) == 2)
	return nil
}

func report(runs map[string]map[string][]float64, both bool) {
	var names []string
	for name := range runs {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Printf("%-28s %14s %14s %8s\n", "figure", "ours", "peer", "ratio")
	for _, name := range names {
		ours := median(runs[name]["ours"])
		if !both {
			fmt.Printf("%-28s %14.1f\n", name, ours)
			continue
		}
		theirs := median(runs[name]["peer"])
		fmt.Printf("%-28s %14.1f %14.1f %8.2f\n", name, ours, theirs, ours/theirs)
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
