package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"dragoman/internal/face/term"
	"dragoman/internal/lane"
	"dragoman/internal/preset"
	"dragoman/internal/proc"
	"dragoman/internal/session"
	"dragoman/wire/agent"
)

// versionLimit bounds the question for one version, checkLimit a handshake.
const (
	versionLimit = 20 * time.Second
	checkLimit   = 90 * time.Second
)

func newAgents(e *Env) *cobra.Command {
	var asJSON, check bool
	c := &cobra.Command{
		Use:   "agents [ID…]",
		Short: "list the known agents, and what each still needs",
		Long: `List every known agent: by which lane it is driven, where it is installed, its
version, whether it is signed in (by variables and files; none is read), and what
to do next. --check starts each installed one and does a real handshake, without
a prompt. Nothing is downloaded.`,
		Example: "  dragoman agents\n  dragoman agents --check claude codex",
		RunE: func(cmd *cobra.Command, ids []string) error {
			return listAgents(cmd.Context(), e, ids, check, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	c.Flags().BoolVar(&check, "check", false, "do a handshake with each installed agent; exit 1 if one fails")
	return c
}

// agentRow is one agent, as --json prints it.
type agentRow struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Lane         string          `json:"lane"`
	Installed    bool            `json:"installed"`
	Version      string          `json:"version,omitzero"`
	Path         string          `json:"path,omitzero"`
	SignedIn     string          `json:"signedIn"`
	Install      string          `json:"install,omitzero"`
	Advice       string          `json:"advice,omitzero"`
	Capabilities map[string]bool `json:"capabilities"`
	Check        *checkRow       `json:"check,omitzero"`
}

// checkRow is how a handshake went.
type checkRow struct {
	OK      bool   `json:"ok"`
	Agent   string `json:"agent,omitzero"`
	Code    string `json:"code,omitzero"`
	Message string `json:"message,omitzero"`
}

func listAgents(ctx context.Context, e *Env, ids []string, check, asJSON bool) error {
	c, err := e.loadConfig(".")
	if err != nil {
		return err
	}
	set, err := e.loadPresets(c)
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	if len(ids) == 0 {
		ids = set.IDs()
	}
	ctx, stop := proc.InterruptContext(ctx)
	defer stop()
	sup := startSupervisor(e.stateDir(), newLog(io.Discard))
	d := &doctor{e: e, set: set, sup: sup, morePath: morePath(ctx, e, sup)}
	var rows []agentRow
	failed := 0
	for _, id := range ids {
		if set.Get(id) == nil {
			return errors.Join(&ExitError{ExitNoAgent, fmt.Errorf("no agent %q is known; known are %s", id, strings.Join(set.IDs(), ", "))}, sup.Close())
		}
		row := d.row(ctx, id)
		if check && row.Installed {
			row.Check = d.check(ctx, id)
			if !row.Check.OK {
				failed++
			}
		}
		rows = append(rows, row)
	}
	if err := sup.Close(); err != nil {
		return &ExitError{ExitFailed, err}
	}
	if err := printAgents(e.Out, rows, check, asJSON); err != nil {
		return &ExitError{ExitFailed, err}
	}
	switch {
	case ctx.Err() != nil:
		return &ExitError{ExitInterrupted, nil}
	case failed > 0:
		return &ExitError{ExitFailed, fmt.Errorf("%d of the agents checked can't be used", failed)}
	}
	return nil
}

// A doctor looks at agents one after the other.
type doctor struct {
	e        *Env
	set      *preset.Set
	sup      *supervisor
	morePath string
}

// lookup asks programs for their versions unless there is no supervisor.
func (d *doctor) lookup() preset.Lookup {
	if d.sup == nil {
		return preset.Lookup{Environ: d.e.Environ, ExtraPath: d.morePath}
	}
	return preset.Lookup{Environ: d.e.Environ, ExtraPath: d.morePath, Ask: func(ctx context.Context, program string, args []string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, versionLimit)
		defer cancel()
		return output(ctx, d.sup, lane.Command{Program: program, Args: args, Dir: d.e.tempDir(), Env: d.e.Environ, Stdin: lane.StdinNull})
	}}
}

func (d *doctor) row(ctx context.Context, id string) agentRow {
	st := d.set.Status(ctx, id, d.lookup())
	p := d.set.Get(id)
	row := agentRow{ID: id, Name: st.Name, Lane: st.Lane, Installed: st.Path != "", Version: st.Version, Path: st.Path,
		SignedIn: st.SignedIn, Advice: st.Advice, Capabilities: st.Capabilities}
	if p.Install.Npm != "" {
		row.Install = "npm install -g " + p.Install.Npm
	}
	return row
}

// check opens a session in the temp folder and closes it.
func (d *doctor) check(ctx context.Context, id string) *checkRow {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	r := &runner{e: d.e}
	spec, extra := r.spec(ctx, d.set, d.sup, id)
	opener := newOpener(d.e, d.set, d.sup, openerOptions{})
	prepared, err := opener.Prepare(session.Request{Spec: spec, Env: extra})
	if err == nil {
		var s *session.Session
		host := &term.Host{Out: io.Discard, Err: io.Discard, Policy: term.PolicyDeny}
		if s, err = prepared.Open(ctx, session.Config{Host: host}); err == nil {
			info := s.Info()
			if err = s.Close(ctx); err == nil {
				return &checkRow{OK: true, Agent: strings.TrimSpace(info.AgentName + " " + info.AgentVersion)}
			}
		}
	}
	row := &checkRow{Message: err.Error()}
	var known *agent.Error
	if errors.As(err, &known) {
		row.Code = known.Code
	}
	return row
}

func printAgents(w io.Writer, rows []agentRow, check, asJSON bool) error {
	if asJSON {
		b, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", b)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AGENT\tLANE\tVERSION\tSIGNED IN\tWHAT TO DO")
	for _, r := range rows {
		version := r.Version
		switch {
		case !r.Installed:
			version = "not installed"
		case version == "":
			version = "installed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Lane, version, r.SignedIn, advice(r, check))
	}
	return t.Flush()
}

func advice(r agentRow, check bool) string {
	switch {
	case check && r.Check != nil && r.Check.OK:
		return strings.TrimSpace("works: " + r.Check.Agent)
	case check && r.Check != nil:
		first, _, _ := strings.Cut(r.Check.Message, "\n")
		return strings.TrimSpace(first + ". " + r.Advice)
	}
	return r.Advice
}
