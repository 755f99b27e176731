package app

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"dragoman/internal/config"
	"dragoman/wire/core"
)

// loadConfig reads the configuration that counts in a folder: the user's, that
// of the folder, and the environment (spec/cli.md "Configuration").
func (e *Env) loadConfig(dir string) (*config.Config, error) {
	c, err := config.Load(config.Places{
		UserDir: e.configDir(), Project: dir, Lookup: e.LookupEnv, Trust: e.trust(),
	})
	if err != nil {
		return nil, &ExitError{ExitUsage, err}
	}
	return c, nil
}

// trust is the user's list of project files that count; nil without a home.
func (e *Env) trust() *config.Trust {
	if dir := e.stateDir(); dir != "" {
		return config.OpenTrust(dir)
	}
	return nil
}

func newConfig(e *Env) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "print the configuration that counts here, and where each value comes from",
		Long: `Print the effective values with their sources: a flag beats DRAGOMAN_<SECTION>_<KEY>
in the environment, that beats .dragoman/config.toml of the project, that beats
config.toml of the user. What a project's file allows, starts, inherits or sets as
agent counts only after "config trust", and until the file changes.`,
		Example: `  dragoman config
  DRAGOMAN_TIMEOUTS_OPENMS=5000 dragoman config --json
  dragoman config trust .`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return printConfig(e, dir, asJSON) },
	}
	c.Flags().StringVar(&dir, "root", ".", "the project's folder")
	c.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON a value")
	c.AddCommand(newConfigTrust(e))
	return c
}

func newConfigTrust(e *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "trust DIR",
		Short: "let a project's .dragoman/config.toml count, as it is now",
		Long: `Trust the file DIR/.dragoman/config.toml by its hash: read it first. A changed file
isn't trusted until you say so again.`,
		Example: `  dragoman config trust .`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			trust := e.trust()
			if trust == nil {
				return &ExitError{ExitUsage, errors.New("there is no state folder: set HOME or XDG_STATE_HOME")}
			}
			path, hash, err := trust.Add(args[0])
			if err != nil {
				return &ExitError{ExitFailed, err}
			}
			fmt.Fprintf(e.Out, "trusted %s %s\n", path, hash)
			return nil
		},
	}
}

// A shownValue is a line of `config --json`.
type shownValue struct {
	Key    string        `json:"key"`
	Value  any           `json:"value"`
	Source config.Source `json:"source"`
	Where  string        `json:"where,omitzero"`
}

func printConfig(e *Env, dir string, asJSON bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	c, err := e.loadConfig(dir)
	if err != nil {
		return err
	}
	for _, v := range shown(c) {
		if asJSON {
			err = e.printLine(v)
		} else {
			err = printValue(e, v)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range c.Ignored {
		fmt.Fprintf(e.Err, "dragoman: %s in %s doesn't count: read the file, then `dragoman config trust %s`\n", name, c.ProjectFile, dir)
	}
	return nil
}

// shown are the values, then the agents and the rules.
func shown(c *config.Config) []shownValue {
	var all []shownValue
	for _, v := range c.Values() {
		all = append(all, shownValue{string(v.Key), v.Value, v.Source, v.Where})
	}
	for _, a := range c.Agents() {
		all = append(all, shownValue{"agents." + a.ID, a.Table, a.Source, a.Where})
	}
	for _, r := range c.Rules {
		all = append(all, shownValue{"permission.rule", r.Table, r.Source, r.Where})
	}
	return all
}

func printValue(e *Env, v shownValue) error {
	raw, err := json.Marshal(v.Value, json.Deterministic(true))
	if err != nil {
		return err
	}
	from := string(v.Source)
	if v.Where != "" {
		from += " " + v.Where
	}
	_, err = fmt.Fprintf(e.Out, "%s = %s  # %s\n", v.Key, raw, from)
	return err
}

// coreLimits are the limits that a core tells its clients.
func coreLimits(c *config.Config) core.Limits {
	return core.Limits{
		LineBytes: c.Int(config.LineBytes), InFlight: c.Int(config.InFlight),
		QueueBytes: c.Int(config.QueueBytes), RingBytes: c.Int(config.RingBytes),
	}
}
