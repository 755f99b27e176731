package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"dragoman/internal/config"
	"dragoman/internal/env"
	"dragoman/internal/face/sidecar"
	"dragoman/internal/preset"
	"dragoman/internal/proc"
	"dragoman/internal/record"
	"dragoman/internal/session"
	"dragoman/wire/ndjson"
)

// serveFlags are the flags of `serve` (spec/cli.md).
type serveFlags struct {
	trustHostEnv                bool
	maxLine                     int
	connectTimeout, openTimeout time.Duration
	log, record                 string
}

func newServe(e *Env) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "be the a4aa.v1 sidecar on stdin and stdout",
		Long: `Be the a4aa.v1 sidecar: JSON-RPC 2.0 on stdin and stdout, one message a line.
A host starts one and opens agents on it. It ends with its input, on SIGTERM or
when its output is closed, and then ends every agent.`,
		Example: `  printf '{"id":1,"method":"ping"}\n' | dragoman serve`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := serve(cmd.Context(), e, f); err != nil {
				return &ExitError{Code: ExitFailed} // the log says more; stderr is for reports
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.trustHostEnv, "trust-host-env", false, "let specs inherit the whole environment")
	flags.IntVar(&f.maxLine, "max-line", ndjson.DefaultMaxLineBytes, "longest line from the host, in bytes")
	flags.DurationVar(&f.connectTimeout, "connect-timeout", session.DefaultConnectTimeout, "from an agent's start to its first answer")
	flags.DurationVar(&f.openTimeout, "open-timeout", session.DefaultOpenTimeout, "for a whole session/open")
	flags.StringVar(&f.log, "log", "", "append a log to this file")
	flags.StringVar(&f.record, "record", "", "record what agents say in this folder, without secrets")
	return c
}

// serve runs the sidecar. Its error says that a cleanup failed, or that the
// log can't be written.
func serve(ctx context.Context, e *Env, f serveFlags) error {
	log, closeLog, err := openLog(f.log)
	if err != nil {
		return err
	}
	defer closeLog()
	limitMemory(e)
	ctx, stop := proc.InterruptContext(ctx)
	defer stop()
	// The host's link carries every session.
	ndjson.WidenPipe(e.In)
	ndjson.WidenPipe(e.Out)
	sup := startSupervisor(e.stateDir(), log)
	trust := env.Untrusted
	if f.trustHostEnv {
		trust = env.TrustHostEnv
	}
	opener := newOpener(e, nil, sup, openerOptions{trust: trust, log: log})
	opener.Presets = &latePresets{e: e, log: log}
	opener.ConnectTimeout, opener.OpenTimeout = f.connectTimeout, f.openTimeout
	if f.record != "" {
		if err := os.MkdirAll(f.record, 0o700); err != nil {
			return err
		}
		opener.Starter = &record.Starter{Starter: sup, Dir: f.record, Log: log}
	}
	err = sidecar.Serve(ctx, e.In, e.Out, sidecar.Config{
		Opener:  opener,
		Version: Version, MaxLineBytes: f.maxLine, Reports: e.Err, Log: log,
	})
	err = errors.Join(err, sup.Close())
	if err != nil {
		log.Error("something may be left", "error", err)
	}
	return err
}

// memoryTarget is where the garbage collector begins to work harder: 48 MiB
// may wait for a host that doesn't read, and all of us is to stay under 80.
const memoryTarget = 60 << 20

// limitMemory sets the target unless the user has one.
func limitMemory(e *Env) {
	if e.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
}

// latePresets are read when the first spec needs one, so that the first
// answer doesn't wait for them (session.Presets).
type latePresets struct {
	e   *Env
	log *slog.Logger

	once sync.Once
	set  *preset.Set
	err  error
}

// Fill implements session.Presets. One broken file of the user's must not end
// every session: then the embedded presets stand alone.
func (p *latePresets) Fill(spec []byte) ([]byte, bool, error) {
	p.once.Do(func() {
		if p.set, p.err = p.load(); p.err != nil {
			p.log.Error("the user's presets are left out", "error", p.err)
			p.set, p.err = preset.Load("", p.e.executable())
		}
	})
	if p.err != nil {
		return nil, false, p.err
	}
	return p.set.Fill(spec, p.e.Getenv("PATH"))
}

// load reads what the user has; a project's file has no say in a sidecar.
func (p *latePresets) load() (*preset.Set, error) {
	c, err := config.Load(config.Places{UserDir: p.e.configDir()})
	if err != nil {
		return nil, err
	}
	return p.e.loadPresets(c)
}

// openLog opens the log of a verb that must keep stderr clean: a file that is
// appended to, or nothing.
func openLog(file string) (*slog.Logger, func(), error) {
	if file == "" {
		return slog.New(slog.DiscardHandler), func() {}, nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return newLog(f), func() { _ = f.Close() }, nil
}

func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
