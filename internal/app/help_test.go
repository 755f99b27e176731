package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// generated is cobra's own command.
func generated(c *cobra.Command) bool { return c.Name() == "help" }

// TestEveryVerbHasAnExample: spec/cli.md asks for one in each --help.
func TestEveryVerbHasAnExample(t *testing.T) {
	for _, c := range verbs(&Env{}) {
		if c.Short == "" || !strings.Contains(c.Example, "dragoman "+c.Name()) {
			t.Errorf("%s: short %q, example %q", c.Name(), c.Short, c.Example)
		}
		for _, sub := range c.Commands() {
			if sub.Short == "" || sub.Example == "" {
				t.Errorf("%s %s: short %q, example %q", c.Name(), sub.Name(), sub.Short, sub.Example)
			}
		}
	}
}

// TestMan: the page tells every verb and flag that --help tells.
func TestMan(t *testing.T) {
	var out bytes.Buffer
	e := &Env{Stdio: Stdio{Out: &out, Err: &out}}
	root := newRoot(e)
	root.SetArgs([]string{"man"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(out.String(), `\-`, "-")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !generated(c) && !strings.Contains(page, `.SS "`+c.UseLine()) {
			t.Errorf("the page lacks %s", c.Name())
		}
	}
	for _, want := range []string{".TH DRAGOMAN 1", "--token-file", ".SH \"EXIT STATUS\"", "124 timeout"} {
		if !strings.Contains(strings.ReplaceAll(page, "\n", " "), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "'") {
			t.Errorf("a line that roff would obey: %q", line)
		}
	}
}
