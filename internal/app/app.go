// Package app is the composition root: it reads arguments and
// configuration, builds what a verb needs and stops it in reverse order.
// Each verb stands in its own file as a constructor that returns its cobra
// command; [verbs] is the one list of them.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes of every verb (spec/cli.md).
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitNoAgent     = 3
	ExitRefused     = 4
	ExitTimeout     = 124
	ExitInterrupted = 130
)

// Stdio are the three streams of the process. In and Out are files in real
// use; tests hand in pipes or buffers.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// Env is what a verb gets of the outside: streams, environment, and how the
// binary was called. It is made once by [Main] and not changed.
type Env struct {
	Stdio
	// Environ is NAME=VALUE, the process's own.
	Environ []string
	// Self is argv[0] as called, Args is what follows it.
	Self string
	Args []string
}

// Getenv returns the value of name in Environ, "" when unset.
func (e *Env) Getenv(name string) string {
	v, _ := e.LookupEnv(name)
	return v
}

// LookupEnv returns the last value of name in Environ.
func (e *Env) LookupEnv(name string) (string, bool) {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		kv := e.Environ[i]
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:], true
		}
	}
	return "", false
}

// An ExitError ends a verb with a code of its own. A nil Err prints nothing.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// verbs is the one list of the command line's verbs, in the order of --help.
func verbs(e *Env) []*cobra.Command {
	return []*cobra.Command{
		newAgent(e),
		newAgents(e),
		newAttach(e),
		newCall(e),
		newCompletion(e),
		newConfig(e),
		newCore(e),
		newDocs(e),
		newDouble(e),
		newFixtureAgent(e),
		newMan(e),
		newRequest(e),
		newRun(e),
		newSchema(e),
		newServe(e),
		newValidate(e),
		newVersion(e),
	}
}

// Main runs one command line and returns its exit code. argv includes the
// program's name.
func Main(argv []string, std Stdio, environ []string) int {
	e := &Env{Stdio: std, Environ: environ, Self: argv[0], Args: argv[1:]}
	return run(context.Background(), e, argv[1:])
}

func run(ctx context.Context, e *Env, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitDone
	}
	// An error that a verb didn't classify comes from parsing its arguments.
	code := ExitUsage
	var exit *ExitError
	if errors.As(err, &exit) {
		code = exit.Code
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintf(e.Err, "dragoman: %s\n", msg)
	}
	return code
}

func newRoot(e *Env) *cobra.Command {
	root := &cobra.Command{
		Use:           "dragoman",
		Short:         "one binary between every host and every coding agent",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.AddCommand(verbs(e)...)
	return root
}
