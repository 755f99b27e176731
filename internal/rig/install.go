package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// install brings an agent's pinned packages into its folder of the cache,
// unless the folder already holds just them.
func install(ctx context.Context, cache string, a agent) error {
	for _, set := range a.packages {
		dir := filepath.Join(cache, set.dir)
		mark := filepath.Join(dir, "installed")
		want := strings.Join(set.names, "\n")
		if have, err := os.ReadFile(mark); err == nil && string(have) == want {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		// Its own package.json keeps npm from walking up to another project.
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "rig: npm install %s\n", strings.Join(set.names, " "))
		args := append([]string{"install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--no-save", "--loglevel=error"}, set.names...)
		cmd := exec.CommandContext(ctx, "npm", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("npm can't install %v: %w\n%s", set.names, err, out)
		}
		if err := os.WriteFile(mark, []byte(want), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func build(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "dragoman/cmd/dragoman")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
