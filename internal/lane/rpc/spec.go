package rpc

import (
	"fmt"

	"dragoman/internal/lane"
	"dragoman/internal/lane/jsonpath"
	"dragoman/internal/lane/mcp"
	"dragoman/wire/agent"
)

// Limits of one frame in bytes.
const (
	minFrameBytes = 1 << 20
	maxFrameBytes = 64 << 20
)

// Driver is the lane rpc.
type Driver struct{}

// spec is a declared agent, in the order of sidecar.md §7.
type spec struct {
	command agent.Command
	max     *int64

	initialize    *template
	initialized   string
	sessionOpen   *template
	sessionResume *template
	prompt        *template
	completion    *completion
	cancel        *template
	sessionClose  *template
	textMethod    string
	textPath      jsonpath.Path
	resultText    jsonpath.Path
	preTurn       []*template
	processScope  bool
	killOnCancel  bool
	envelope      *envelope
	announce      *string // of the web-socket transport; nil on stdio
	frameBytes    int64
	usagePath     jsonpath.Path
	failure       *failure
	mcpRaw        [][]byte
	mcpConfig     *mcp.Config
}

// template is a call as declared: its params hold placeholders.
type template struct {
	method string
	params []byte // JSON; nil when left out
}

// completion is the notification that ends a turn.
type completion struct {
	method      string
	turnIDPath  jsonpath.Path
	statusPath  jsonpath.Path
	statusValue *string
}

// failure is the mark of a turn that failed although it completed.
type failure struct {
	path    jsonpath.Path
	value   *string
	message jsonpath.Path
}

// Parse reads an rpc spec. Unknown members are errors, in nested objects too.
func (Driver) Parse(s *agent.Spec) (lane.Plan, error) {
	f := agent.LaneFields(s)
	p := &spec{
		command:       s.Command,
		max:           s.MaxOutputBytes,
		initialize:    parseCall(f, "initialize"),
		initialized:   f.Str("initialized"),
		sessionOpen:   parseCall(f, "sessionOpen"),
		sessionResume: parseCall(f, "sessionResume"),
		prompt:        parseCall(f, "prompt"),
		completion:    parseCompletion(f.Obj("completion")),
		cancel:        parseCall(f, "cancel"),
		sessionClose:  parseCall(f, "sessionClose"),
		textMethod:    f.Str("textEventMethod"),
		textPath:      jsonpath.Parse(f.Str("textPath")),
		resultText:    jsonpath.Parse(f.Str("resultTextPath")),
		processScope:  f.Word("sessionScope", "agent", "process") == "process",
		killOnCancel:  f.Bool("killOnCancel"),
		envelope:      parseEnvelope(f.Obj("envelope")),
		announce:      parseTransport(f),
		frameBytes:    minFrameBytes,
		usagePath:     jsonpath.Parse(f.Str("usagePath")),
		failure:       parseFailure(f),
		mcpRaw:        f.List("mcpServers"),
		mcpConfig:     parseMCPConfig(f.Obj("mcpConfig")),
	}
	for _, c := range f.Objs("preTurn") {
		p.preTurn = append(p.preTurn, callOf(c))
	}
	f.Strings("passthrough") // for hosts that know the agent; nothing here
	if n, ok := f.Int("maxFrameBytes"); ok {
		p.frameBytes = max(n, minFrameBytes)
	}
	if p.prompt == nil {
		f.Fault("prompt", "is missing")
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return p, nil
}

// need returns a string member that must be there; it may be empty.
func need(f *agent.Fields, name string) string {
	text, ok := f.StrOK(name)
	if !ok {
		f.Fault(name, "is missing")
	}
	return text
}

func parseCall(f *agent.Fields, name string) *template {
	c := f.Obj(name)
	if c == nil {
		return nil
	}
	return callOf(c)
}

func callOf(f *agent.Fields) *template {
	defer f.CheckUnknown()
	return &template{method: need(f, "method"), params: f.Raw("params")}
}

func parseCompletion(f *agent.Fields) *completion {
	if f == nil {
		return nil
	}
	defer f.CheckUnknown()
	c := &completion{
		method:     need(f, "method"),
		turnIDPath: jsonpath.Parse(f.Str("turnIdPath")),
		statusPath: jsonpath.Parse(f.Str("statusPath")),
	}
	if value, ok := f.StrOK("statusValue"); ok {
		c.statusValue = &value
	}
	return c
}

func parseTransport(f *agent.Fields) (announce *string) {
	raw := f.Raw("transport")
	if raw == nil {
		return nil
	}
	if word, ok := agent.String(raw); ok {
		if word != "stdio" {
			f.Fault("transport", "must be stdio or an object with web-socket")
		}
		return nil
	}
	outer := f.Obj("transport")
	defer outer.CheckUnknown()
	inner := outer.Obj("web-socket")
	if inner == nil {
		outer.Fault("web-socket", "is missing")
		return nil
	}
	defer inner.CheckUnknown()
	prefix := need(inner, "announce")
	return &prefix
}

func parseFailure(f *agent.Fields) *failure {
	x := &failure{path: jsonpath.Parse(f.Str("failurePath")), message: jsonpath.Parse(f.Str("failureMessagePath"))}
	if value, ok := f.StrOK("failureValue"); ok {
		x.value = &value
	}
	if x.path == nil {
		return nil
	}
	return x
}

func parseMCPConfig(f *agent.Fields) *mcp.Config {
	if f == nil {
		return nil
	}
	defer f.CheckUnknown()
	c := &mcp.Config{Flag: need(f, "flag"), Root: need(f, "root"), EnvVarsKey: need(f, "envVarsKey"),
		Approved: f.Strings("toolsApprovalServers")}
	if a := f.Obj("toolsApproval"); a != nil {
		c.ApprovalKey, c.ApprovalValue = need(a, "key"), need(a, "value")
		a.CheckUnknown()
	}
	return c
}

// CheckEnv holds the limit of a frame, which comes right after the
// environment policy (sidecar.md §2).
func (p *spec) CheckEnv() error {
	if p.frameBytes > maxFrameBytes {
		return agent.BadSpec(fmt.Sprintf("max_frame_bytes is over the limit of %d", maxFrameBytes))
	}
	return nil
}
