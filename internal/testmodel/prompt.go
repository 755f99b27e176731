package testmodel

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
)

// object is a JSON object of a provider's request. Provider requests are
// open and change often; only the few members read here count.
type object = map[string]any

// A prompt is one provider request in a common form.
type prompt struct {
	api    string
	model  string
	stream bool
	tools  []tool
	// user is the newest real message of the person; scenario, command and
	// file are what it asks for.
	user                    string
	scenario, command, file string
	// results are the tool results that came after that message.
	results []string
	// turns counts the user messages that name a scenario.
	turns int
}

// A tool is one that the agent offers.
type tool struct {
	name   string
	kind   string // function, custom, local_shell
	schema object
}

// said is a message of the person or a tool's result, in order.
type said struct {
	text   string
	result bool
}

var (
	scenarioWord = regexp.MustCompile(`SCENARIO=([A-Za-z0-9]+)`)
	commandWord  = regexp.MustCompile(`CMD=([^\n]+)`)
	fileWord     = regexp.MustCompile(`FILE=(\S+)`)
)

// settle picks the newest real message and what belongs to it.
func (p *prompt) settle(all []said) {
	at := -1
	for i, s := range all {
		if s.result {
			continue
		}
		named := scenarioWord.MatchString(s.text)
		if named {
			p.turns++
		}
		// Agents wrap context in tags; such a message counts only if nothing
		// better comes.
		tagged := strings.HasPrefix(strings.TrimSpace(s.text), "<")
		if named || at < 0 || (p.turns == 0 && !tagged) {
			at = i
		}
	}
	p.scenario = "text"
	if at < 0 {
		return
	}
	p.user = all[at].text
	if m := last(scenarioWord, p.user); m != "" {
		p.scenario = strings.ToLower(m)
	}
	p.command = strings.TrimSpace(last(commandWord, p.user))
	p.file = strings.TrimRight(last(fileWord, p.user), `".,`)
	for _, s := range all[at+1:] {
		if s.result {
			p.results = append(p.results, s.text)
		}
	}
}

func last(re *regexp.Regexp, s string) string {
	all := re.FindAllStringSubmatch(s, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

func (p *prompt) toolNames() []string {
	var names []string
	for _, t := range p.tools {
		names = append(names, t.name)
	}
	return names
}

func readResponses(b object) (*prompt, []said) {
	p := &prompt{}
	for _, t := range objects(b["tools"]) {
		if str(t["type"]) == "namespace" {
			for _, u := range objects(t["tools"]) {
				p.tools = append(p.tools, tool{str(u["name"]), or(str(u["type"]), "function"), obj(u["parameters"])})
			}
			continue
		}
		p.tools = append(p.tools, tool{or(str(t["name"]), str(t["type"])), or(str(t["type"]), "function"), obj(t["parameters"])})
	}
	if s, ok := b["input"].(string); ok {
		return p, []said{{text: s}}
	}
	var all []said
	for _, m := range objects(b["input"]) {
		switch {
		case strings.HasSuffix(str(m["type"]), "_output"):
			all = append(all, said{flat(m["output"]), true})
		case str(m["role"]) == "user":
			all = append(all, said{text: flat(m["content"])})
		}
	}
	return p, all
}

func readChat(b object) (*prompt, []said) {
	p := &prompt{}
	for _, t := range objects(b["tools"]) {
		f := t
		if inner := obj(t["function"]); inner != nil {
			f = inner
		}
		p.tools = append(p.tools, tool{str(f["name"]), "function", obj(f["parameters"])})
	}
	var all []said
	for _, m := range objects(b["messages"]) {
		switch str(m["role"]) {
		case "tool":
			all = append(all, said{flat(m["content"]), true})
		case "user":
			all = append(all, said{text: flat(m["content"])})
		}
	}
	return p, all
}

func readAnthropic(b object) (*prompt, []said) {
	p := &prompt{}
	for _, t := range objects(b["tools"]) {
		p.tools = append(p.tools, tool{str(t["name"]), "function", obj(t["input_schema"])})
	}
	var all []said
	for _, m := range objects(b["messages"]) {
		user := str(m["role"]) == "user"
		if s, ok := m["content"].(string); ok {
			if user {
				all = append(all, said{text: s})
			}
			continue
		}
		for _, block := range objects(m["content"]) {
			switch {
			case str(block["type"]) == "tool_result":
				all = append(all, said{flat(block["content"]), true})
			case str(block["type"]) == "text" && user:
				all = append(all, said{text: str(block["text"])})
			}
		}
	}
	return p, all
}

func readGemini(b object) (*prompt, []said) {
	p := &prompt{}
	for _, t := range objects(b["tools"]) {
		declared := objects(t["functionDeclarations"])
		if declared == nil {
			declared = objects(t["function_declarations"])
		}
		for _, f := range declared {
			schema := obj(f["parametersJsonSchema"])
			if schema == nil {
				schema = obj(f["parameters"])
			}
			p.tools = append(p.tools, tool{str(f["name"]), "function", schema})
		}
	}
	var all []said
	for _, m := range objects(b["contents"]) {
		for _, part := range objects(m["parts"]) {
			switch {
			case part["functionResponse"] != nil:
				all = append(all, said{flat(obj(part["functionResponse"])["response"]), true})
			case str(part["text"]) != "" && or(str(m["role"]), "user") == "user":
				all = append(all, said{text: str(part["text"])})
			}
		}
	}
	return p, all
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func obj(v any) object {
	o, _ := v.(object)
	return o
}

func objects(v any) []object {
	list, _ := v.([]any)
	var out []object
	for _, x := range list {
		if o := obj(x); o != nil {
			out = append(out, o)
		}
	}
	return out
}

// flat is the text of a content value, whatever its shape.
func flat(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, flat(x))
		}
		return strings.Join(parts, "\n")
	case object:
		for _, key := range []string{"text", "content", "output"} {
			if inner, ok := v[key]; ok {
				return flat(inner)
			}
		}
		return encode(v)
	default:
		return fmt.Sprint(v)
	}
}

func encode(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
