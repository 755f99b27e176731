package acp_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"dragoman/wire/acp"
)

const schemaFile = "testdata/v1.schema.json"

// A protocol is the schema of ACP, version 1.
type protocol struct {
	compiler *jsonschema.Compiler
	defs     map[string]jsontext.Value
}

func loadProtocol(t *testing.T) *protocol {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]jsontext.Value `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("acp.json", value); err != nil {
		t.Fatal(err)
	}
	return &protocol{compiler: compiler, defs: doc.Defs}
}

// validate checks message against the definition of that name.
func (p *protocol) validate(t *testing.T, def string, message []byte) {
	t.Helper()
	schema, err := p.compiler.Compile("acp.json#/$defs/" + def)
	if err != nil {
		t.Fatalf("%s: %v", def, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s is no %s: %v", message, def, err)
	}
}

// consts are the values of member in the variants of a definition.
func (p *protocol) consts(t *testing.T, def, member string) []string {
	t.Helper()
	var d struct {
		OneOf []struct {
			Const      string `json:"const"`
			Properties map[string]struct {
				Const string `json:"const"`
			} `json:"properties"`
		} `json:"oneOf"`
	}
	if err := json.Unmarshal(p.defs[def], &d); err != nil || len(d.OneOf) == 0 {
		t.Fatalf("%s has no variants (%v)", def, err)
	}
	var list []string
	for _, variant := range d.OneOf {
		word := variant.Const
		if member != "" {
			word = variant.Properties[member].Const
		}
		if word == "" {
			t.Errorf("a variant of %s has no %s", def, member)
		}
		list = append(list, word)
	}
	return list
}

func ptr[T any](v T) *T { return &v }

// Everything that we send is what the schema says.
func TestSentMessages(t *testing.T) {
	p := loadProtocol(t)
	servers, err := acp.ReadMCPServers([][]byte{
		[]byte(`{"name":"m","command":"c","args":["a"],"env":[{"name":"K","value":"v"}]}`),
		[]byte(`{"type":"http","name":"h","url":"http://localhost/","headers":[{"name":"K","value":"v"}]}`),
		[]byte(`{"type":"sse","name":"s","url":"http://localhost/","headers":[]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		def     string
		message any
	}{
		{"InitializeRequest", acp.InitializeParams{ProtocolVersion: acp.ProtocolVersion, ClientInfo: acp.Implementation{Name: "n", Version: "1"}}},
		{"InitializeRequest", acp.InitializeParams{ProtocolVersion: acp.ProtocolVersion, ClientCapabilities: acp.ClientCapabilities{FS: acp.FileSystem{ReadTextFile: true, WriteTextFile: true}, Terminal: true}}},
		{"AuthenticateRequest", acp.AuthenticateParams{MethodID: "m"}},
		{"AuthenticateRequest", acp.AuthenticateParams{MethodID: "m", Meta: &acp.AuthMeta{APIKey: "k"}}},
		{"NewSessionRequest", acp.SessionParams{Dir: "/"}},
		{"NewSessionRequest", acp.SessionParams{Dir: "/\xff", MCPServers: servers}},
		{"LoadSessionRequest", acp.SessionParams{SessionID: "s", Dir: "/", MCPServers: servers}},
		{"ResumeSessionRequest", acp.SessionParams{SessionID: "s", Dir: "/"}},
		{"PromptRequest", acp.PromptParams{SessionID: "s", Prompt: []acp.Block{
			{Type: acp.BlockText, Text: ptr("")},
			{Type: acp.BlockImage, Data: "AAAA", MimeType: "image/png"},
			{Type: acp.BlockResourceLink, Name: "n", URI: "file:///a"},
			{Type: acp.BlockResource, Resource: &acp.Resource{URI: "file:///a", Text: ptr("t")}},
			{Type: acp.BlockResource, Resource: &acp.Resource{URI: "file:///a", Blob: ptr("AAAA"), MimeType: "a/b"}},
		}}},
		{"CancelNotification", acp.CancelParams{SessionID: "s"}},
		{"SetSessionModeRequest", acp.SetModeParams{SessionID: "s", ModeID: "m"}},
		{"SetSessionConfigOptionRequest", acp.SetConfigParams{SessionID: "s", ConfigID: "c", Value: jsontext.Value(`"v"`)}},
		{"SetSessionConfigOptionRequest", acp.SetConfigParams{SessionID: "s", ConfigID: "c", Type: "boolean", Value: jsontext.Value("true")}},
		{"RequestPermissionResponse", acp.Selected("o")},
		{"RequestPermissionResponse", acp.Cancelled()},
		{"ReadTextFileResponse", acp.ReadTextFileResult{}},
		{"WriteTextFileResponse", acp.Empty{}},
		{"CreateTerminalResponse", acp.TerminalCreateResult{TerminalID: "t"}},
		{"TerminalOutputResponse", acp.TerminalOutputResult{}},
		{"TerminalOutputResponse", acp.TerminalOutputResult{ExitStatus: &acp.TerminalExit{ExitCode: ptr(1)}}},
		{"WaitForTerminalExitResponse", acp.TerminalExit{Signal: ptr("SIGKILL")}},
		{"KillTerminalResponse", acp.Empty{}},
		{"ReleaseTerminalResponse", acp.Empty{}},
		{"CreateElicitationResponse", acp.ElicitationResult{Action: "decline"}},
	}
	for _, tt := range tests {
		message, err := acp.Encode(tt.message)
		if err != nil {
			t.Errorf("%s: %v", tt.def, err)
			continue
		}
		p.validate(t, tt.def, message)
	}
}

// updates has one message of every kind of update in the schema.
var updates = map[string]string{
	acp.UpdateUserChunk:         `"content":{"type":"text","text":"t"},"messageId":"m"`,
	acp.UpdateMessageChunk:      `"content":{"type":"text","text":"t"}`,
	acp.UpdateThoughtChunk:      `"content":{"type":"text","text":"t"}`,
	acp.UpdateToolCall:          `"toolCallId":"c","title":"t","kind":"read","status":"pending","locations":[{"path":"/a","line":3}]`,
	acp.UpdateToolCallUpdate:    `"toolCallId":"c","status":"completed","content":null`,
	acp.UpdatePlan:              `"entries":[{"content":"c","priority":"high","status":"pending"}]`,
	acp.UpdateCommands:          `"availableCommands":[{"name":"n","description":"d"}]`,
	acp.UpdateMode:              `"currentModeId":"m"`,
	acp.UpdateConfig:            `"configOptions":[]`,
	acp.UpdateInfo:              `"title":"t"`,
	acp.UpdateUsage:             `"used":1,"size":2,"cost":{"amount":0.5,"currency":"USD"}`,
	acp.UpdateNotice:            `"severity":"warning","title":"t"`,
	acp.UpdateCompaction:        `"compactionId":"c","status":"in_progress"`,
	acp.UpdateCompactionSummary: `"compactionId":"c","content":{"type":"text","text":"t"}`,
}

// Every kind of update in the schema is known by name; a new one fails here.
func TestUpdateKinds(t *testing.T) {
	p := loadProtocol(t)
	kinds := p.consts(t, "SessionUpdate", "sessionUpdate")
	for _, kind := range kinds {
		body, ok := updates[kind]
		if !ok {
			t.Errorf("the schema has the update %s, this package hasn't", kind)
			continue
		}
		update := `{"sessionUpdate":"` + kind + `",` + body + `}`
		p.validate(t, "SessionUpdate", []byte(update))
		u, ok := acp.ReadUpdate([]byte(`{"sessionId":"s","update":` + update + `}`))
		if !ok || u.Kind != kind || string(u.Raw) != update {
			t.Errorf("ReadUpdate(%s) = %q, %s, %v", update, u.Kind, u.Raw, ok)
		}
		if want := acp.Object(update).Get("content"); !bytes.Equal(u.Content, want) {
			t.Errorf("%s: content %s, want %s", kind, u.Content, want)
		}
	}
	for kind := range updates {
		if !slices.Contains(kinds, kind) {
			t.Errorf("the schema has no update %s", kind)
		}
	}
}

// Every type of content in the schema is read by name.
func TestContentTypes(t *testing.T) {
	p := loadProtocol(t)
	blocks := map[string]string{
		acp.BlockText:         `{"type":"text","text":"t"}`,
		acp.BlockImage:        `{"type":"image","data":"AAAA","mimeType":"image/png"}`,
		acp.BlockAudio:        `{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`,
		acp.BlockResourceLink: `{"type":"resource_link","name":"n","uri":"file:///a"}`,
		acp.BlockResource:     `{"type":"resource","resource":{"uri":"file:///a","text":"t"}}`,
	}
	for _, kind := range p.consts(t, "ContentBlock", "type") {
		block, ok := blocks[kind]
		if !ok {
			t.Errorf("the schema has the content block %s, this package hasn't", kind)
			continue
		}
		p.validate(t, "ContentBlock", []byte(block))
		if _, isText := acp.TextOf([]byte(block)); isText != (kind == acp.BlockText) {
			t.Errorf("TextOf(%s): text %v", block, isText)
		}
	}
	contents := map[string]struct{ json, want string }{
		acp.ContentBlock:    {`{"type":"content","content":{"type":"text","text":"t"}}`, "text"},
		acp.ContentDiff:     {`{"type":"diff","path":"/a","oldText":null,"newText":"n"}`, "diff"},
		acp.ContentTerminal: {`{"type":"terminal","terminalId":"t"}`, "terminal"},
	}
	for _, kind := range p.consts(t, "ToolCallContent", "type") {
		c, ok := contents[kind]
		if !ok {
			t.Errorf("the schema has the tool content %s, this package hasn't", kind)
			continue
		}
		p.validate(t, "ToolCallContent", []byte(c.json))
		call := acp.ReadToolCall(acp.Object(`{"toolCallId":"c","content":[` + c.json + `]}`))
		if len(call.Content) != 1 || call.Content[0].Type != c.want {
			t.Errorf("content %s read as %+v, want %s", c.json, call.Content, c.want)
		}
	}
}

// Config options of both kinds are read.
func TestConfigOptionTypes(t *testing.T) {
	p := loadProtocol(t)
	options := map[string]string{
		"select":  `{"id":"i","name":"n","category":"model","type":"select","currentValue":"a","options":[{"value":"a","name":"A"}]}`,
		"boolean": `{"id":"b","name":"n","type":"boolean","currentValue":true}`,
	}
	for _, kind := range p.consts(t, "SessionConfigOption", "type") {
		option, ok := options[kind]
		if !ok {
			t.Errorf("the schema has the config option %s, this package hasn't", kind)
			continue
		}
		p.validate(t, "SessionConfigOption", []byte(option))
		_, found := acp.FindSelect([]byte("["+option+"]"), "model")
		if found != (kind == "select") {
			t.Errorf("%s: found as a select: %v", option, found)
		}
	}
}

// Every method that the schema gives to the client has a name here.
func TestClientMethods(t *testing.T) {
	p := loadProtocol(t)
	known := []string{
		acp.MethodUpdate, acp.MethodPermission, acp.MethodReadTextFile, acp.MethodWriteTextFile,
		acp.MethodTerminalCreate, acp.MethodTerminalOutput, acp.MethodTerminalWait,
		acp.MethodTerminalKill, acp.MethodTerminalRelease, acp.MethodElicitation,
		"elicitation/complete", // for elicitations by URL, which we never accept
	}
	for name, raw := range p.defs {
		var d struct {
			Side   string `json:"x-side"`
			Method string `json:"x-method"`
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		if d.Side == "client" && !slices.Contains(known, d.Method) {
			t.Errorf("%s: the method %s is unknown", name, d.Method)
		}
	}
}
