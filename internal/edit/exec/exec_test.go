package exec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"dragoman/client"
	"dragoman/internal/namespace/spacetest"
	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A place is a core with this namespace.
type place struct {
	*spacetest.World
	space *Space
}

// newPlace makes one; change changes its options.
func newPlace(t *testing.T, change func(*Options)) *place {
	t.Helper()
	p := &place{}
	sup, err := proc.New(proc.Options{Grace: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), spacetest.Patience)
		defer cancel()
		if err := sup.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	root := t.TempDir()
	p.World = spacetest.New(t, root, func(w *spacetest.World) {
		o := Options{
			Starter: sup, Dir: filepath.Join(t.TempDir(), "logs"),
			Environ: []string{"PATH=" + systemPath, "HOME=/nowhere", "API_TOKEN=s3cret-value", "EXTRA=more"},
			Folder: func(raw string) (string, error) {
				if strings.HasPrefix(raw, "/") {
					return "", op.OutsideRoot(raw)
				}
				return filepath.Join(root, raw), nil
			},
			Pending: func(id string) bool {
				r := w.Runs.Get(id)
				return r != nil && r.Info().State != core.RunStateEnded
			},
		}
		if change != nil {
			change(&o)
		}
		if p.space, err = New(o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.space.Close(); err != nil {
				t.Error(err)
			}
		})
		p.space.Bind(w.Mux)
	})
	return p
}

const systemPath = "/usr/local/bin:/usr/bin:/bin"

func sh(script string) core.ExecRunParams {
	return core.ExecRunParams{Argv: []string{"sh", "-c", script}}
}

// told is what the events of a run tell of a stream.
func told(t *testing.T, c *spacetest.Client, run string, stream core.OutputStream) string {
	t.Helper()
	var b []byte
	for _, e := range c.OfRun(run) {
		var p core.ExecOutputParams
		if e.Name != core.ExecOutput.Name {
			continue
		}
		if err := json.Unmarshal(e.Params, &p); err != nil {
			t.Fatal(err)
		}
		if p.Stream != stream {
			continue
		}
		if p.SkippedTo != nil || *p.Offset != int64(len(b)) {
			t.Fatalf("%s behind %d bytes", e.Line, len(b))
		}
		b = append(b, core.BytesOrText{Text: p.Text, Base64: p.Base64}.Bytes()...)
	}
	return string(b)
}

func start(t *testing.T, c *spacetest.Client, p core.ExecRunParams) string {
	t.Helper()
	id, err := core.ExecRun.Start(context.Background(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// finish waits for a run that ends well.
func finish(t *testing.T, c *spacetest.Client, id string) core.ExecRunResult {
	t.Helper()
	raw, e := c.Ended(id)
	if e != nil {
		t.Fatal(e)
	}
	var r core.ExecRunResult
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// awaitOutput waits until a run has told text.
func awaitOutput(c *spacetest.Client, id, text string) {
	seen := ""
	c.Await(func(e client.Event) bool {
		var p core.ExecOutputParams
		if e.Name == core.ExecOutput.Name && json.Unmarshal(e.Params, &p) == nil && p.Run == id && p.Text != nil {
			seen += *p.Text
		}
		return strings.Contains(seen, text)
	})
}

func TestRunTellsAndKeeps(t *testing.T) {
	c := newPlace(t, nil).Attach()
	p := sh("cat; echo err >&2; exit 3")
	text := "héllo\n"
	p.Stdin.Content = &core.BytesOrText{Text: &text}
	id := start(t, c, p)
	r := finish(t, c, id)
	if r.ExitCode == nil || *r.ExitCode != 3 || r.Signal != "" || r.TimedOut || r.Truncated || r.Bytes != 11 || len(r.Survivors) > 0 {
		t.Errorf("result %+v", r)
	}
	if got := told(t, c, id, core.Stdout); got != text {
		t.Errorf("stdout %q", got)
	}
	if got := told(t, c, id, core.Stderr); got != "err\n" {
		t.Errorf("stderr %q", got)
	}
	page := spacetest.MustCall(c, core.ExecReadOutput, core.ExecReadOutputParams{Run: id, Stream: core.Stdout, From: 0})
	if page.Text == nil || *page.Text != text || page.Next != 7 || !page.EOF {
		t.Errorf("page %+v", page)
	}
	list := spacetest.MustCall(c, core.ExecList, core.None{}).Runs
	if len(list) != 1 || list[0].Run != id || list[0].State != core.RunStateEnded || *list[0].ExitCode != 3 || list[0].Bytes != 11 || list[0].PID == 0 {
		t.Errorf("list %+v", list)
	}
}

func TestPagesEndAtCharacters(t *testing.T) {
	c := newPlace(t, nil).Attach()
	id := start(t, c, sh(`printf 'aé\377b'`))
	finish(t, c, id)
	two, one := int64(2), int64(1)
	for _, tt := range []struct {
		from int64
		max  *int64
		want string // text, or bytes in hex
		next int64
		eof  bool
	}{
		{0, &two, "text a", 1, false},
		{1, &two, "text é", 3, false},
		{1, &one, "hex c3", 2, false},
		{0, nil, "hex 61c3a9ff62", 5, true},
		{5, nil, "text ", 5, true},
	} {
		r := spacetest.MustCall(c, core.ExecReadOutput, core.ExecReadOutputParams{Run: id, Stream: core.Stdout, From: tt.from, MaxBytes: tt.max})
		got := fmt.Sprintf("hex %x", r.Base64)
		if r.Text != nil {
			got = "text " + *r.Text
		}
		if got != tt.want || r.Next != tt.next || r.EOF != tt.eof {
			t.Errorf("from %d: %s %+v, want %+v", tt.from, got, r, tt)
		}
	}
}

func TestCharactersAreJoined(t *testing.T) {
	c := newPlace(t, nil).Attach()
	id := start(t, c, sh(`printf '\303'; sleep 0.2; printf '\251x'; sleep 0.2; printf '\377\303'`))
	finish(t, c, id)
	if got := told(t, c, id, core.Stdout); got != "éx\xff\xc3" {
		t.Errorf("got %q", got)
	}
	for _, e := range c.OfRun(id) {
		if strings.Contains(string(e.Params), "\uFFFD") {
			t.Errorf("a character is lost: %s", e.Params)
		}
	}
}

func TestBadRuns(t *testing.T) {
	c := newPlace(t, nil).Attach()
	word := func(w string) core.ExecStdin { return core.ExecStdin{Word: w} }
	zero, less := int64(0), int64(-1)
	for name, tt := range map[string]struct {
		p            core.ExecRunParams
		code         op.Code
		reason, data string
	}{
		"no argv":         {core.ExecRunParams{Argv: []string{}}, op.CodeBadRequest, "missing", "argv"},
		"nul":             {core.ExecRunParams{Argv: []string{"a", "b\x00"}}, op.CodeBadRequest, "nul", "argv[1]"},
		"env":             {core.ExecRunParams{Argv: []string{"a"}, Env: map[string]*string{"A=B": nil}}, op.CodeBadRequest, "invalid", "env"},
		"stdin and pty":   {core.ExecRunParams{Argv: []string{"a"}, Stdin: word("open"), PTY: &core.PTYSize{Cols: 1, Rows: 1}}, op.CodeBadRequest, "exclusive", "stdin"},
		"no columns":      {core.ExecRunParams{Argv: []string{"a"}, PTY: &core.PTYSize{Rows: 1}}, op.CodeBadRequest, "out_of_range", "pty"},
		"timeout":         {core.ExecRunParams{Argv: []string{"a"}, TimeoutMs: &zero}, op.CodeBadRequest, "out_of_range", "timeoutMs"},
		"maxBytes":        {core.ExecRunParams{Argv: []string{"a"}, MaxBytes: &less}, op.CodeBadRequest, "out_of_range", "maxBytes"},
		"missing program": {core.ExecRunParams{Argv: []string{"no-such-program"}}, op.CodeNotFound, "", ""},
		"missing folder":  {core.ExecRunParams{Argv: []string{"true"}, Cwd: "nowhere"}, op.CodeNotFound, "", ""},
		"outside":         {core.ExecRunParams{Argv: []string{"true"}, Cwd: "/"}, op.CodeOutsideRoot, "", ""},
		"not executable":  {core.ExecRunParams{Argv: []string{"/etc/passwd"}}, op.CodeIO, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, e := spacetest.Do(c, core.ExecRun, tt.p)
			spacetest.Want(t, e, tt.code, tt.reason)
			if key, _ := e.Data["key"].(string); key != tt.data {
				t.Errorf("key %q", key)
			}
		})
	}
}

func TestCallsForNoProcess(t *testing.T) {
	c := newPlace(t, nil).Attach()
	done := start(t, c, sh("exit 0"))
	finish(t, c, done)
	text := "x"
	for name, e := range map[string]*op.Error{
		"write":  second(spacetest.Call(c, core.ExecWrite, core.ExecWriteParams{Run: "r99", Text: &text})),
		"resize": second(spacetest.Call(c, core.ExecResize, core.ExecResizeParams{Run: "r99", Cols: 1, Rows: 1})),
		"signal": second(spacetest.Call(c, core.ExecSignal, core.ExecSignalParams{Run: "r99", Signal: "SIGTERM"})),
		"read":   second(spacetest.Call(c, core.ExecReadOutput, core.ExecReadOutputParams{Run: "../x", Stream: core.Stdout})),
		"stream": second(spacetest.Call(c, core.ExecReadOutput, core.ExecReadOutputParams{Run: done, Stream: core.PTY})),
		"ended":  second(spacetest.Call(c, core.ExecSignal, core.ExecSignalParams{Run: done, Signal: "SIGTERM"})),
	} {
		t.Run(name, func(t *testing.T) { spacetest.Want(t, e, op.CodeNotFound, "") })
	}
	e := second(spacetest.Call(c, core.ExecReadOutput, core.ExecReadOutputParams{Run: done, Stream: core.Stdout, From: 1}))
	spacetest.Want(t, e, op.CodeBadRequest, "out_of_range")

	id := start(t, c, sh("exec sleep 100"))
	spacetest.Want(t, second(spacetest.Call(c, core.ExecWrite, core.ExecWriteParams{Run: id, Text: &text})), op.CodeUnsupported, "")
	spacetest.Want(t, second(spacetest.Call(c, core.ExecResize, core.ExecResizeParams{Run: id, Cols: 1, Rows: 1})), op.CodeUnsupported, "")
	spacetest.Want(t, second(spacetest.Call(c, core.ExecResize, core.ExecResizeParams{Run: id, Rows: 1})), op.CodeBadRequest, "out_of_range")
	spacetest.Want(t, second(spacetest.Call(c, core.ExecSignal, core.ExecSignalParams{Run: id, Signal: "SIGNONE"})), op.CodeBadRequest, "not_one_of")
	spacetest.MustCall(c, core.ExecSignal, core.ExecSignalParams{Run: id, Signal: "SIGKILL"})
	if r := finish(t, c, id); r.Signal != "SIGKILL" || r.ExitCode != nil {
		t.Errorf("result %+v", r)
	}
}

func second[R any](_ R, e *op.Error) *op.Error { return e }

func TestOpenInput(t *testing.T) {
	c := newPlace(t, nil).Attach()
	p := core.ExecRunParams{Argv: []string{"cat"}, Stdin: core.ExecStdin{Word: "open"}}
	id := start(t, c, p)
	one := "one "
	spacetest.MustCall(c, core.ExecWrite, core.ExecWriteParams{Run: id, Text: &one})
	awaitOutput(c, id, "one ")
	spacetest.MustCall(c, core.ExecWrite, core.ExecWriteParams{Run: id, Base64: []byte{0xFF}, EOF: true})
	e := second(spacetest.Call(c, core.ExecWrite, core.ExecWriteParams{Run: id, Text: &one}))
	if e == nil || (e.Code != op.CodeIO && e.Code != op.CodeNotFound) {
		t.Errorf("a write behind the end: %v", e)
	}
	finish(t, c, id)
	if got := told(t, c, id, core.Stdout); got != "one \xff" {
		t.Errorf("got %q", got)
	}
}

func TestInputIsBounded(t *testing.T) {
	c := newPlace(t, nil).Attach()
	id := start(t, c, core.ExecRunParams{Argv: []string{"sleep", "100"}, Stdin: core.ExecStdin{Word: "open"}})
	big := make([]byte, maxInput)
	spacetest.MustCall(c, core.ExecWrite, core.ExecWriteParams{Run: id, Base64: big})
	e := second(spacetest.Call(c, core.ExecWrite, core.ExecWriteParams{Run: id, Base64: big}))
	spacetest.Want(t, e, op.CodeOverloaded, "")
	spacetest.MustCall(c, core.RunCancel, core.RunParams{Run: id})
	_, e = c.Ended(id)
	spacetest.Want(t, e, op.CodeCancelled, "")
}

func TestTerminal(t *testing.T) {
	c := newPlace(t, nil).Attach()
	p := sh(`stty size; echo $TERM; read a; stty size; cat`)
	p.PTY = &core.PTYSize{Cols: 81, Rows: 25}
	id := start(t, c, p)
	awaitOutput(c, id, "25 81\r\nxterm-256color\r\n")
	spacetest.MustCall(c, core.ExecResize, core.ExecResizeParams{Run: id, Cols: 90, Rows: 40})
	line := "go\n"
	spacetest.MustCall(c, core.ExecWrite, core.ExecWriteParams{Run: id, Text: &line})
	awaitOutput(c, id, "40 90\r\n")
	last := "end"
	spacetest.MustCall(c, core.ExecWrite, core.ExecWriteParams{Run: id, Text: &last, EOF: true})
	if r := finish(t, c, id); r.ExitCode == nil || *r.ExitCode != 0 {
		t.Errorf("result %+v", r)
	}
	if got := told(t, c, id, core.PTY); !strings.HasSuffix(got, "endend") {
		t.Errorf("got %q", got)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	c := newPlace(t, nil).Attach()
	p := sh("echo out; trap 'exit 7' TERM; while :; do sleep 0.05; done")
	ms := int64(400)
	p.TimeoutMs = &ms
	r := spacetest.MustDo(c, core.ExecRun, p)
	if !r.TimedOut || r.ExitCode == nil || *r.ExitCode != 7 {
		t.Errorf("timed out: %+v", r)
	}
	id := start(t, c, sh("echo out; exec sleep 100"))
	awaitOutput(c, id, "out")
	spacetest.MustCall(c, core.RunCancel, core.RunParams{Run: id})
	_, e := c.Ended(id)
	spacetest.Want(t, e, op.CodeCancelled, "")
	if e.Data["signal"] != "SIGTERM" || e.Data["bytes"] != float64(4) {
		t.Errorf("data %v", e.Data)
	}
	c.OfRun(id)
}

// A daemon that keeps the pipe doesn't keep the run, and is ended with it.
func TestEndsWithTheChild(t *testing.T) {
	pl := newPlace(t, nil)
	c := pl.Attach()
	id := start(t, c, sh(`(trap '' HUP; sleep 1000) & echo $!; exit 0`))
	r := finish(t, c, id)
	if *r.ExitCode != 0 || len(r.Survivors) > 0 {
		t.Errorf("result %+v", r)
	}
	pid := strings.TrimSpace(told(t, c, id, core.Stdout))
	if _, err := os.Stat("/proc/" + pid); err == nil {
		t.Errorf("process %s is alive", pid)
	}
}

func TestCeiling(t *testing.T) {
	c := newPlace(t, nil).Attach()
	p := sh("printf 'aé'; sleep 0.1; echo more")
	most := int64(2)
	p.MaxBytes = &most
	id := start(t, c, p)
	if r := finish(t, c, id); !r.Truncated || r.Bytes != 8 {
		t.Errorf("result %+v", r)
	}
	if got := told(t, c, id, core.Stdout); got != "a" {
		t.Errorf("told %q", got)
	}
	page := spacetest.MustCall(c, core.ExecReadOutput, core.ExecReadOutputParams{Run: id, Stream: core.Stdout})
	if *page.Text != "aémore\n" {
		t.Errorf("kept %q", *page.Text)
	}
}

func TestEnvironment(t *testing.T) {
	c := newPlace(t, func(o *Options) { o.Inherit = func() []string { return []string{"EXTRA"} } }).Attach()
	set, secret := "1", "hidden-value"
	for _, tt := range []struct {
		name string
		p    core.ExecRunParams
		want []string
	}{
		{"safe", core.ExecRunParams{}, []string{"EXTRA=more", "HOME=/nowhere", "PATH=" + systemPath}},
		{"core", core.ExecRunParams{Inherit: core.InheritCore}, []string{"API_TOKEN=s3cret-value", "EXTRA=more", "HOME=/nowhere", "PATH=" + systemPath}},
		{"set", core.ExecRunParams{Env: map[string]*string{"A": &set, "HOME": nil, "B": &secret}}, []string{"A=1", "B=hidden-value", "EXTRA=more", "PATH=" + systemPath}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.p.Argv = []string{"env"}
			id := start(t, c, tt.p)
			finish(t, c, id)
			got := strings.Split(strings.TrimSpace(told(t, c, id, core.Stdout)), "\n")
			// The mark of our processes is there too.
			got = slices.DeleteFunc(got, func(kv string) bool { return strings.HasPrefix(kv, "DRAGOMAN") })
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	raw, err := json.Marshal(spacetest.MustCall(c, core.ExecList, core.None{}))
	if err != nil || strings.Contains(string(raw), "hidden") || strings.Contains(string(raw), "s3cret") {
		t.Errorf("%v %s", err, raw)
	}
}
