package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// runVerb does a turn with `dragoman run`: the agent's spec becomes a preset
// of the user's, as a person would write it.
func runVerb(ctx context.Context, r *runner) error {
	spec := r.agent.spec(r.place)
	lane := fmt.Sprint(spec["lane"])
	members := object{}
	for name, value := range spec {
		if name != "id" && name != "lane" {
			members[name] = value
		}
	}
	command, _ := spec["command"].(object)
	preset := object{"name": "rig", "lanes": []string{lane}, "find": object{"programs": []any{command["program"]}}, "lane": object{lane: members}}
	b, err := toml.Marshal(preset)
	if err != nil {
		return err
	}
	if err := r.place.write(filepath.Join(".config", "dragoman", "agents", "rig.toml"), string(b)); err != nil {
		return err
	}
	args := []string{"run", "rig", "--cwd", r.place.cwd, "--ask", "allow-all"}
	if r.agent.mode != "" {
		args = append(args, "--mode", r.agent.mode)
	}
	cmd := exec.CommandContext(ctx, r.o.binary, append(args, "SCENARIO=text", "Say", "hello.")...)
	cmd.Env = r.env()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("dragoman run: %w: %s", err, errs.String())
	}
	if !strings.Contains(out.String(), "Turns seen:") {
		return fmt.Errorf("dragoman run printed %q and %q", out.String(), errs.String())
	}
	return nil
}
