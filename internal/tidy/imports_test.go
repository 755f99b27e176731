package tidy

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const module = "dragoman/"

// A row says what the packages that match may import of this module, and
// why no more. A trailing /... matches everything below, "*" all.
type row struct {
	packages string
	may      []string
	why      string
}

// table is the direction of dependencies. The first row that matches counts;
// a package without a row fails.
var table = []row{
	{"cmd/dragoman", []string{"internal/app"}, "main parses nothing and builds nothing"},
	{"wire/ndjson", nil, "framing is the kernel"},
	{"wire/jsonrpc", []string{"wire/ndjson"}, "the peer carries any protocol"},
	{"wire/op", []string{"wire/ndjson"}, "how operations are declared knows no operation"},
	{"wire/agent/...", []string{"wire/agent/...", "wire/ndjson"}, "the session model outlives every dialect"},
	{"wire/sidecar", []string{"wire/agent", "wire/ndjson", "wire/op"}, "a protocol doesn't choose its carrier"},
	{"wire/core", []string{"wire/agent", "wire/ndjson", "wire/op"}, "a protocol doesn't choose its carrier"},
	{"wire/locate", nil, "where a core listens depends on the root alone"},
	{"wire/acp", []string{"wire/agent", "wire/ndjson"}, "a protocol doesn't choose its carrier"},
	{"wire/envelope", []string{"wire/ndjson"}, "a protocol doesn't choose its carrier"},
	{"client", []string{"wire/..."}, "it runs against a stranger"},
	{"envelope/...", []string{"wire/...", "envelope/..."}, "it runs against a stranger"},
	{"conformance/...", []string{"wire/...", "conformance/..."}, "it judges a stranger"},
	{"internal/redact", nil, "what is a secret depends on nobody"},
	{"internal/env", []string{"wire/agent", "internal/redact"}, "a pure function of parent and policy"},
	{"internal/supervise", nil, "a pure state machine"},
	{"internal/proc", []string{"internal/lane", "internal/redact", "internal/supervise", "wire/agent"}, "it starts processes and knows no dialect"},
	{"internal/session", []string{"wire/agent", "wire/ndjson", "internal/lane", "internal/env", "internal/redact"}, "the engine is handed its lanes and faces"},
	{"internal/lane/lanetest", []string{"wire/...", "internal/lane", "internal/session"}, "the suite knows no lane"},
	{"internal/lane/...", []string{"wire/...", "internal/lane/...", "internal/redact", "envelope/..."}, "a lane is handed a running process"},
	{"internal/face/sidecar", []string{"wire/...", "internal/session", "internal/lane", "internal/env"}, "a face knows no lane"},
	{"internal/face/...", []string{"wire/...", "internal/session", "internal/lane", "internal/hub", "internal/run", "internal/flock", "internal/face/...", "envelope/...", "client"}, "a face knows no lane"},
	{"internal/edit/text", nil, "storage knows no protocol"},
	{"internal/edit/charset", []string{"internal/edit/text"}, "encodings know no protocol"},
	{"internal/edit/match", []string{"internal/edit/text"}, "search knows no protocol"},
	{"internal/edit/diff", []string{"internal/edit/text"}, "comparing knows no protocol"},
	{"internal/edit/buffer", []string{"internal/edit/...", "internal/redact"}, "the buffer engine knows no protocol"},
	{"internal/edit/git", []string{"internal/edit/...", "internal/lane", "internal/proc", "internal/redact", "wire/op", "wire/core"}, "a namespace knows no transport"},
	{"internal/edit/exec", []string{"internal/edit/...", "internal/lane/...", "internal/proc", "internal/env", "internal/redact", "wire/op", "wire/core", "wire/agent"}, "a namespace knows no transport"},
	{"internal/edit/...", []string{"internal/edit/...", "internal/redact", "wire/op", "wire/core"}, "a namespace knows no transport"},
	{"internal/journal", []string{"internal/redact", "wire/ndjson"}, "records are lines and outlive protocol levels"},
	{"internal/permit", []string{"wire/agent"}, "rules know no session"},
	{"internal/config", nil, "what the user says depends on nobody"},
	{"internal/preset", []string{"wire/agent"}, "known agents are data"},
	{"internal/testmodel", nil, "a provider's stand-in knows nothing of us"},
	{"internal/rig", []string{"internal/testmodel"}, "a host that shares no code with what it tests"},
	{"internal/fixture", []string{"wire/..."}, "an agent is a stranger"},
	{"internal/tidy", nil, "rules need no code"},
	{"docs/...", nil, "pages are data"},
	{"internal/gen", []string{"wire/..."}, "derived from declarations alone"},
	{"internal/app", []string{"*"}, "the composition root"},
	{"internal/...", []string{"wire/...", "internal/...", "client"}, "not yet narrowed"},
	{"clients/...", []string{"wire/...", "client"}, "it runs against a stranger"},
	{"examples/...", []string{"wire/...", "envelope/...", "client"}, "what a user may import"},
}

// never are imports that no row may allow.
var never = []struct{ from, to, why string }{
	{"internal/lane/...", "internal/face/...", "lanes and faces are mirror images around the engine"},
	{"internal/face/...", "internal/app", "only cmd imports the root"},
	{"wire/...", "internal/...", "wire is public and inert"},
	{"client", "internal/...", "a client runs against a stranger"},
	{"internal/session", "internal/face/...", "the engine knows no face"},
}

type listed struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
	Dir        string
}

// packages lists the module with the go command.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles,Dir", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	d := jsontext.NewDecoder(strings.NewReader(string(out)))
	var all []listed
	for d.PeekKind() == '{' {
		var p listed
		if err := json.UnmarshalDecode(d, &p, json.MatchCaseInsensitiveNames(false)); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("only %d packages listed", len(all))
	}
	return all
}

func matches(pattern, name string) bool {
	if pattern == "*" {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return pattern == name
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		i := slices.IndexFunc(table, func(r row) bool { return matches(r.packages, name) })
		if i < 0 {
			t.Errorf("%s has no row in the import table: add one, with its reason", name)
			continue
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			if !slices.ContainsFunc(table[i].may, func(m string) bool { return matches(m, to) }) {
				t.Errorf("%s imports %s: it may import only %v, because %s", name, to, table[i].may, table[i].why)
			}
			for _, n := range never {
				if matches(n.from, name) && matches(n.to, to) {
					t.Errorf("%s imports %s: never, because %s", name, to, n.why)
				}
			}
		}
	}
}
