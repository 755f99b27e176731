package app

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"bash"}, ExitDone, "__start_dragoman"},
		{[]string{"zsh"}, ExitDone, "#compdef dragoman"},
		{[]string{"fish"}, ExitDone, "complete -c dragoman"},
		{[]string{"powershell"}, ExitDone, "Register-ArgumentCompleter"},
		{[]string{"tcsh"}, ExitUsage, ""},
		{nil, ExitUsage, ""},
	} {
		var out, errs bytes.Buffer
		e := &Env{Stdio: Stdio{Out: &out, Err: &errs}}
		code := run(context.Background(), e, append([]string{"completion"}, c.args...))
		if code != c.code || !strings.Contains(out.String(), c.want) || (c.want == "" && out.Len() > 0) {
			t.Errorf("%q: code %d, %d bytes of output; want %d and %q", c.args, code, out.Len(), c.code, c.want)
		}
	}
}
