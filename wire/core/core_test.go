package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// declared lists the package's variables that are made of op.Op or op.Event.
func declared(t *testing.T, kind string) []string {
	t.Helper()
	var names []string
	for _, file := range sources(t) {
		for _, d := range file.Decls {
			gd, ok := d.(*ast.GenDecl)
			if !ok || gd.Tok != token.VAR {
				continue
			}
			for _, s := range gd.Specs {
				vs := s.(*ast.ValueSpec)
				if name := literalName(vs, kind); name != "" {
					if gd.Doc.Text() == "" {
						t.Errorf("%s has no comment", vs.Names[0].Name)
					}
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

func sources(t *testing.T) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// literalName is the Name in &op.<kind>[…]{Name: "…"}, "" for other values.
func literalName(vs *ast.ValueSpec, kind string) string {
	if len(vs.Values) != 1 {
		return ""
	}
	u, ok := vs.Values[0].(*ast.UnaryExpr)
	if !ok {
		return ""
	}
	lit, ok := u.X.(*ast.CompositeLit)
	if !ok {
		return ""
	}
	var generic ast.Expr
	switch x := lit.Type.(type) {
	case *ast.IndexExpr:
		generic = x.X
	case *ast.IndexListExpr:
		generic = x.X
	}
	sel, ok := generic.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != kind {
		return ""
	}
	for _, e := range lit.Elts {
		kv := e.(*ast.KeyValueExpr)
		if kv.Key.(*ast.Ident).Name == "Name" {
			return strings.Trim(kv.Value.(*ast.BasicLit).Value, `"`)
		}
	}
	return "(unnamed)"
}

func TestEveryDeclarationIsListed(t *testing.T) {
	var ops, events []string
	for _, d := range core.Ops() {
		ops = append(ops, d.Describe().Op)
	}
	for _, e := range core.Events() {
		events = append(events, e.DescribeEvent().Event)
	}
	slices.Sort(ops)
	slices.Sort(events)
	if want := declared(t, "Op"); !slices.Equal(ops, want) {
		t.Errorf("Ops() lists %v\nthe sources declare %v", ops, want)
	}
	if want := declared(t, "Event"); !slices.Equal(events, want) {
		t.Errorf("Events() lists %v\nthe sources declare %v", events, want)
	}
}

var (
	namePattern = regexp.MustCompile(`^[a-z]+\.[a-z][A-Za-z]*$`)
	docPattern  = regexp.MustCompile(`^[a-z].*\.$`)
)

func TestEveryOperationIsComplete(t *testing.T) {
	events := map[string]bool{}
	for _, e := range core.Events() {
		d := e.DescribeEvent()
		events[d.Event] = true
		if !namePattern.MatchString(d.Event) || !docPattern.MatchString(d.Doc) || d.Since < 1 {
			t.Errorf("%s: name, doc or since is missing: %q %d", d.Event, d.Doc, d.Since)
		}
	}
	for _, o := range core.Ops() {
		d := o.Describe()
		if !namePattern.MatchString(d.Op) {
			t.Errorf("%s isn't namespace.verb", d.Op)
		}
		if !docPattern.MatchString(d.Doc) {
			t.Errorf("%s: doc %q isn't a sentence that continues the name", d.Op, d.Doc)
		}
		if d.Since < 1 || d.Since > core.Level {
			t.Errorf("%s: since %d", d.Op, d.Since)
		}
		if want, ok := effects[d.Op]; (ok && d.Effect != want) || (!ok && d.Effect != defaultEffect(d)) {
			t.Errorf("%s has effect %s", d.Op, d.Effect)
		}
		params, _ := o.Types()
		_, scoped := params.(interface{ RunScope() op.Scope })
		if scoped != d.Streaming {
			t.Errorf("%s: streaming is %v, params embed op.Streaming: %v", d.Op, d.Streaming, scoped)
		}
		for _, c := range d.Errors {
			if !slices.Contains(op.Codes(), c) || slices.Contains(op.CommonCodes(), c) {
				t.Errorf("%s: error %q isn't one to declare", d.Op, c)
			}
		}
		for _, e := range d.Events {
			if !events[e] {
				t.Errorf("%s: event %q isn't declared", d.Op, e)
			}
		}
	}
}

// defaultEffect is "all else" of core.md §3 "Effects".
func defaultEffect(d op.Desc) op.Effect {
	if d.Namespace() == "agent" {
		return op.Agent
	}
	return op.Write
}

var effects = func() map[string]op.Effect {
	m := map[string]op.Effect{}
	for effect, names := range map[op.Effect]string{
		op.Read: `session.hello session.ping session.describe session.subscribe session.stats session.clients
			run.get run.list run.watch run.cancel
			buffer.open buffer.list buffer.get buffer.text buffer.find buffer.matches buffer.diff buffer.checkDisk
			buffer.recoveries buffer.close
			fs.list fs.stat fs.read fs.glob fs.watch fs.unwatch fs.listTrash
			project.get project.files project.search project.getState
			git.status git.diff git.log git.show git.blame git.branches git.worktrees
			exec.list exec.readOutput
			agent.list agent.get agent.sessions agent.history agent.pending agent.audit agent.changes
			agent.getPolicy agent.explainPolicy`,
		op.Exec:  `exec.run exec.write exec.resize exec.signal`,
		op.Admin: `session.shutdown session.detach project.open project.close agent.setPolicy`,
	} {
		for _, n := range strings.Fields(names) {
			m[n] = effect
		}
	}
	return m
}()

func compileSchema(t *testing.T, s op.Schema) *jsonschema.Schema {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:s", doc); err != nil {
		t.Fatal(err)
	}
	sch, err := c.Compile("mem:s")
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return sch
}

func TestSchemasAreValid(t *testing.T) {
	for _, o := range core.Ops() {
		d := o.Describe()
		t.Run(d.Op, func(t *testing.T) {
			compileSchema(t, d.Params)
			compileSchema(t, d.Result)
		})
	}
	for _, e := range core.Events() {
		compileSchema(t, e.DescribeEvent().Params)
	}
}

func TestDecodeParams(t *testing.T) {
	tests := []struct {
		op, params  string
		key, reason string // of the refusal; "" for good params
		schemaTakes bool   // a refusal that a schema can't express
	}{
		{op: "session.ping", params: ``},
		{op: "session.ping", params: `null`},
		{op: "session.ping", params: `{"x":1}`, key: "x", reason: "unknown_key"},
		{op: "session.ping", params: `[]`, reason: "wrong_type"},
		{op: "buffer.edit", params: `{"buffer":"b1","edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":"x"}]}`},
		{op: "buffer.edit", params: `{"buffer":"b1","edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}]}`, key: "edits[0].text", reason: "missing"},
		{op: "buffer.edit", params: `{"buffer":"b1","edits":[{"range":{"start":{"line":0.5,"character":0},"end":{"line":0,"character":0}},"text":""}]}`, key: "edits[0].range.start.line", reason: "wrong_type"},
		{op: "buffer.edit", params: `{"buffer":"b1","edits":null}`, key: "edits", reason: "wrong_type"},
		{op: "buffer.edit", params: `{"Buffer":"b1","edits":[]}`, key: "Buffer", reason: "unknown_key"},
		{op: "buffer.edit", params: `{"buffer":"b1","edits":[],"revision":1.0}`},
		{op: "buffer.edit", params: `{"buffer":"b1","edits":[],"revision":9007199254740993}`, key: "revision", reason: "out_of_range"},
		{op: "buffer.edit", params: `{"buffer":"b1","edits":[],"revision":null}`, key: "revision", reason: "wrong_type"},
		{op: "buffer.edit", params: `{"buffer":"b1","buffer":"b2","edits":[]}`, reason: "duplicate_key", schemaTakes: true},
		{op: "buffer.open", params: `{}`, key: "path", reason: "missing", schemaTakes: true},
		{op: "buffer.open", params: `{"path":"a","pathBytes":"YQ=="}`, key: "pathBytes", reason: "exclusive", schemaTakes: true},
		{op: "buffer.open", params: `{"pathBytes":"/w=="}`},
		{op: "buffer.open", params: `{"path":"a\u0000b"}`, key: "path", reason: "nul", schemaTakes: true},
		{op: "buffer.diff", params: `{"buffer":"b1","against":"disk"}`},
		{op: "buffer.diff", params: `{"buffer":"b1","against":{"text":""}}`},
		{op: "buffer.diff", params: `{"buffer":"b1","against":"index"}`, key: "against", reason: "not_one_of"},
		{op: "buffer.diff", params: `{"buffer":"b1","against":{"text":"","x":1}}`, key: "against.x", reason: "unknown_key"},
		{op: "fs.write", params: `{"path":"a","text":"","ifHash":null}`},
		{op: "fs.write", params: `{"path":"a","text":"","ifHash":"sha256:00"}`},
		{op: "fs.write", params: `{"path":"a","text":"","ifHash":1}`, key: "ifHash", reason: "wrong_type"},
		{op: "fs.write", params: `{"path":"a"}`, key: "text", reason: "missing", schemaTakes: true},
		{op: "fs.create", params: `{"path":"a","type":"link"}`, key: "type", reason: "not_one_of"},
		{op: "exec.run", params: `{"argv":["ls"],"env":{"A":null,"B":"x"},"scope":"client"}`},
		{op: "exec.run", params: `{"argv":["ls"],"scope":"core"}`, key: "scope", reason: "not_one_of"},
		{op: "exec.run", params: `{"argv":[]}`, key: "argv", reason: "missing", schemaTakes: true},
		{op: "exec.run", params: `{"argv":["ls"],"pty":{"cols":80,"rows":24},"stdin":"open"}`, key: "stdin", reason: "exclusive", schemaTakes: true},
		{op: "exec.run", params: `{"argv":["ls"],"stdin":{"text":"x"}}`},
		{op: "agent.send", params: `{"session":"s1","text":"hi","context":[{"buffer":"b1"},{"path":"a"}]}`},
		{op: "agent.send", params: `{"session":"s1","text":"hi","context":[{}]}`, key: "context[0].path", reason: "one_of", schemaTakes: true},
		{op: "project.setState", params: `{"value":{"a":[1,null]}}`},
	}
	byName := map[string]op.Declaration{}
	for _, o := range core.Ops() {
		byName[o.Describe().Op] = o
	}
	for _, tt := range tests {
		t.Run(tt.op+" "+tt.params, func(t *testing.T) {
			_, err := byName[tt.op].DecodeParams([]byte(tt.params))
			checkRefusal(t, err, tt.key, tt.reason)
			if tt.params == "" || tt.params == "null" || tt.reason == "duplicate_key" {
				return
			}
			doc, jerr := jsonschema.UnmarshalJSON(strings.NewReader(tt.params))
			if jerr != nil {
				t.Fatal(jerr)
			}
			serr := compileSchema(t, byName[tt.op].Describe().Params).Validate(doc)
			if takes := serr == nil; takes != (err == nil || tt.schemaTakes) {
				t.Errorf("schema takes it: %v, decoding: %v", takes, err)
			}
		})
	}
}

func checkRefusal(t *testing.T, err error, key, reason string) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	e, _ := op.AsError(err)
	if err == nil || e.Code != op.CodeBadRequest || e.Reason() != reason {
		t.Fatalf("got %v, want bad_request %s", err, reason)
	}
	if got, _ := e.Data["key"].(string); got != key {
		t.Errorf("key %q, want %q", got, key)
	}
}

// FuzzDecodeParams holds that any bytes give params or a bad_request, and
// that what was decoded survives a round trip.
func FuzzDecodeParams(f *testing.F) {
	ops := core.Ops()
	for i, s := range []string{`{}`, `null`, `{"buffer":"b1","edits":[]}`, `{"path":"a","text":"x","ifHash":null}`,
		`{"argv":["a"],"stdin":{"base64":"AA=="}}`, `{"a":{"a":1}}`, "{\"path\":\"\xff\"}", `[`} {
		f.Add(uint8(i*7), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		o := ops[int(which)%len(ops)]
		p, err := o.DecodeParams(raw)
		if err != nil {
			if e, ok := op.AsError(err); !ok || e.Code != op.CodeBadRequest || e.Reason() == "" {
				t.Fatalf("%s: %v", o.Describe().Op, err)
			}
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%s: encode: %v", o.Describe().Op, err)
		}
		if _, err := o.DecodeParams(again); err != nil {
			t.Fatalf("%s: %s became %s: %v", o.Describe().Op, raw, again, err)
		}
	})
}
