package session

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/internal/env"
	"dragoman/internal/lane"
	"dragoman/wire/agent"
)

// The clocks of an open (lanes.md §1).
const (
	DefaultConnectTimeout = 30 * time.Second
	DefaultOpenTimeout    = 120 * time.Second
)

// Presets fill a spec that names a known agent and no lane (sidecar.md §9).
type Presets interface {
	// Fill returns the whole spec for one that has an id but no lane; ok is
	// false when no preset has that id. Members that are given win.
	Fill(spec []byte) (filled []byte, ok bool, err error)
}

// An Opener opens sessions. Its fields are set once; it may be used from many
// goroutines.
type Opener struct {
	// Drivers by the name of their lane.
	Drivers map[string]lane.Driver
	// Presets may be nil.
	Presets Presets
	// HostEnv is our own environment, NAME=VALUE; Trust lifts the refusal of
	// inheriting all of it.
	HostEnv []string
	Trust   env.Trust
	// TempDir is the working folder where none is given: never our own.
	TempDir string
	Starter lane.Starter
	// ConnectTimeout and OpenTimeout bound an open; 0 for the defaults.
	ConnectTimeout, OpenTimeout time.Duration
	// StallAfter is what a session's Config means by 0; 0 for the default.
	StallAfter time.Duration
	// Log gets what nobody else is told; nil discards it.
	Log *slog.Logger
}

// A Request says what to open.
type Request struct {
	// Spec is the AgentSpec as JSON, or a preset's id in one.
	Spec []byte
	// Cwd is the working folder; "" for the spec's, else the temp folder.
	Cwd string
	// Env is laid over what the policy gives, NAME=VALUE.
	Env []string
	// Resume is the agent's own session id; blank for a new session.
	Resume  string
	Options agent.Options
	// Workspace serves files and terminals to the agent; nil without a core.
	Workspace lane.Workspace
}

// A Prepared open has passed every check that needs no process.
type Prepared struct {
	Spec   *agent.Spec
	stall  time.Duration
	plan   lane.Plan
	launch lane.Launch
}

// Prepare checks a request in the order of sidecar.md §2: spec, environment
// policy, what of the lane concerns it, options and resume and MCP servers by
// the lane, environment resolved (a [lane.LatePlan] tells that later), working
// folder. The first failure is
// returned, an [*agent.SpecError] or an [*agent.Error]. Nothing is started.
func (o *Opener) Prepare(r Request) (*Prepared, error) {
	spec, plan, err := o.parse(r.Spec)
	if err != nil {
		return nil, err
	}
	if err := env.Check(spec.Command.Env, o.Trust); err != nil {
		return nil, err
	}
	if err := plan.CheckEnv(); err != nil {
		return nil, err
	}
	resume := r.Resume
	if strings.TrimSpace(resume) == "" {
		resume = ""
	}
	if err := plan.Check(r.Options, resume); err != nil {
		return nil, err
	}
	vars, envErr := env.Resolve(o.HostEnv, spec.Command.Env, r.Env)
	if late, ok := plan.(lane.LatePlan); envErr != nil && (!ok || !late.StartsLate()) {
		return nil, envErr
	}
	dir, err := o.folder(r.Cwd, spec.Command.Cwd)
	if err != nil {
		return nil, err
	}
	return &Prepared{Spec: spec, stall: o.StallAfter, plan: plan, launch: lane.Launch{
		Dir: dir, Env: vars.Vars, EnvError: envErr, Options: r.Options, Resume: resume, Workspace: r.Workspace,
		ConnectTimeout: orDefault(o.ConnectTimeout, DefaultConnectTimeout),
		OpenTimeout:    orDefault(o.OpenTimeout, DefaultOpenTimeout),
		Starter:        redacting{o.Starter, vars.Secrets},
		Log:            o.logger(),
	}}, nil
}

// Open starts the agent. See [Open] for ctx.
func (p *Prepared) Open(ctx context.Context, c Config) (*Session, error) {
	c.StallAfter = orDefault(c.StallAfter, p.stall)
	s, err := Open(ctx, p.plan, p.launch, c)
	if err == nil {
		return s, nil
	}
	var known *agent.Error
	if errors.As(err, &known) {
		return nil, known
	}
	return nil, agent.Fail(agent.CodeProtocolFailed, agent.StageOpen, err.Error())
}

func (o *Opener) parse(raw []byte) (*agent.Spec, lane.Plan, error) {
	raw, err := o.fill(raw)
	if err != nil {
		return nil, nil, err
	}
	spec, err := agent.ParseSpec(raw)
	if err != nil {
		return nil, nil, err
	}
	driver, ok := o.Drivers[spec.Lane]
	if !ok {
		return nil, nil, agent.BadSpec("lane " + spec.Lane + " is not known")
	}
	plan, err := driver.Parse(spec)
	return spec, plan, err
}

// fill completes a spec from a preset when it has an id but no lane.
func (o *Opener) fill(raw []byte) ([]byte, error) {
	f := agent.ReadFields("", raw)
	if f.Err() != nil || f.Has("lane") || !f.Has("id") || o.Presets == nil {
		return raw, nil // ParseSpec says what is wrong
	}
	filled, ok, err := o.Presets.Fill(raw)
	switch {
	case err != nil:
		return nil, agent.BadSpec(err.Error())
	case !ok:
		return nil, agent.BadSpec("lane is missing, and " + f.Str("id") + " is no preset")
	}
	return filled, nil
}

// folder is the first of its arguments that is given, else the temp folder.
// It must be absolute and be there.
func (o *Opener) folder(asked ...string) (string, error) {
	dir := o.TempDir
	if i := slices.IndexFunc(asked, func(s string) bool { return s != "" }); i >= 0 {
		dir = asked[i]
	}
	refuse := func(why string) (string, error) {
		return "", agent.FailFlags(agent.CodeProcessStartFailed, agent.StageProcessStart, "working folder "+dir+": "+why, agent.FlagsFinal)
	}
	if !filepath.IsAbs(dir) {
		return refuse("it is not absolute")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return refuse("it does not exist")
	case err != nil:
		return "", agent.FailSystem(agent.CodeProcessStartFailed, agent.StageProcessStart, err)
	case !info.IsDir():
		return refuse("it is not a folder")
	}
	return dir, nil
}

func (o *Opener) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// redacting adds the environment's secrets to what a child's stderr tail
// never shows.
type redacting struct {
	lane.Starter
	secrets []string
}

func (r redacting) Start(ctx context.Context, c lane.Command) (lane.Process, error) {
	c.SecretValues = append(slices.Clip(c.SecretValues), r.secrets...)
	return r.Starter.Start(ctx, c)
}
