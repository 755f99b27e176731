package app_test

import (
	"os"
	"testing"

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

// TestScripts runs testdata/script/*.txtar over the real command line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../../testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("XDG_RUNTIME_DIR", "")
			return nil
		},
	})
}
