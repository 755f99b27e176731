package app_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"dragoman/internal/app"
)

// TestMain lets scripts run this test binary as dragoman.
func TestMain(m *testing.M) {
	dragoman := func() {
		os.Exit(app.Main(os.Args, app.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ()))
	}
	testscript.Main(m, map[string]func(){"dragoman": dragoman, "a4aa": dragoman})
}

// coreEndLimit bounds the end of a core that was told to end.
const coreEndLimit = 30 * time.Second

// waitGone is the script command `gone ROOT`: it waits until no core listens
// for a root. A shutdown is answered before the core has ended.
func waitGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone ROOT")
	}
	for end := time.Now().Add(coreEndLimit); time.Now().Before(end); {
		err := ts.Exec("dragoman", "call", "--root", args[0], "session.ping")
		if err != nil && strings.Contains(ts.ReadFile("stderr"), "no core listens") {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	ts.Fatalf("a core for %s still listens after %v", args[0], coreEndLimit)
}

// TestScripts runs testdata/script/*.txtar over the real command line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "../../testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"gone": waitGone},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("XDG_RUNTIME_DIR", "")
			return nil
		},
	})
}
