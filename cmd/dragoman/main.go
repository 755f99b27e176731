// Command dragoman stands between every host and every coding agent. See
// README.md for the verbs and internal/app for how it is put together.
package main

import (
	"os"

	"dragoman/internal/app"
)

func main() {
	os.Exit(app.Main(os.Args, app.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ()))
}
