package envelope_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"dragoman/wire/envelope"
)

// compileSchema is the independent validator, with formats asserted.
func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(schemaDir, "envelope.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("envelope.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("envelope.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// inexpressible are the rules that a schema can't express, as in the
// schema's README: there our verdict may be an error where the schema has
// none. Never the reverse.
func inexpressible(err *envelope.Error) bool {
	switch err.Code {
	case envelope.LineTooLarge, envelope.InvalidUTF8, envelope.InvalidJSON, envelope.DuplicateKey, envelope.BudgetExceeded:
		// A schema sees a value, not its line.
		return true
	}
	// maxLength counts characters, the rule bytes.
	return err.Code == envelope.InvalidEnvelope && strings.HasPrefix(err.Detail, "message has ")
}

// agree compares the verdicts on one line and reports whether ours is valid.
func agree(t *testing.T, d *envelope.Decoder, schema *jsonschema.Schema, line []byte) bool {
	t.Helper()
	_, err := d.Decode(line)
	value, parseErr := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	schemaErr := parseErr
	if parseErr == nil {
		schemaErr = schema.Validate(value)
	}
	ours, isOurs := err.(*envelope.Error)
	switch {
	case err == nil && schemaErr != nil:
		t.Errorf("ours accepts, the schema doesn't: %v\n%.300q", schemaErr, line)
	case isOurs && schemaErr == nil && !inexpressible(ours):
		t.Errorf("the schema accepts, ours doesn't: %v\n%.300q", ours, line)
	}
	return err == nil
}

func TestSchemaAgreesOnFixtures(t *testing.T) {
	schema := compileSchema(t)
	d := envelope.NewDecoder(envelope.Limits{})
	for _, line := range validFixtures(t) {
		if !agree(t, d, schema, line) {
			t.Errorf("a valid fixture is invalid: %.200s", line)
		}
	}
	for _, f := range invalidFixtures(t) {
		if agree(t, d, schema, f.line(t)) {
			t.Errorf("an invalid fixture is valid: %s", f.Why)
		}
	}
}

// mutations is how many mutated lines the two validators must agree on.
const mutations = 20000

func TestSchemaAgreesOnMutations(t *testing.T) {
	schema := compileSchema(t)
	d := envelope.NewDecoder(envelope.Limits{})
	valid := validFixtures(t)
	r := rand.New(rand.NewPCG(1, 2))
	verdicts := map[bool]int{}
	for range mutations {
		line := bytes.Clone(valid[r.IntN(len(valid))])
		if len(line) > 4096 {
			continue
		}
		for range 1 + r.IntN(2) {
			line = mutate(r, line)
		}
		verdicts[agree(t, d, schema, line)]++
		if t.Failed() {
			return
		}
	}
	t.Logf("%d valid and %d invalid mutations", verdicts[true], verdicts[false])
	if verdicts[true] < mutations/50 || verdicts[false] < mutations/50 {
		t.Errorf("the mutations are one-sided: %v", verdicts)
	}
}

// tokens are what mutations put in the place of others.
var tokens = []string{
	`null`, `true`, `0`, `""`, `[]`, `{}`, `"x"`, `"X"`, `"1.0"`, `"1.7"`, `"2.0"`, `"hello"`, `"request"`, `"event"`,
	`"cancel"`, `"error"`, `"completed"`, `"2026-02-30T00:00:00Z"`, `"2026-12-01T23:59:60Z"`, `"2026-12-01T00:00:00.5+01:00"`,
	`["a","a"]`, `["a","b"]`, `["A"]`, `[1]`, `"a b"`, `1.5e3`, `{"a":{"b":[]}}`,
}

var keys = []string{
	"protocolVersion", "kind", "messageId", "sentAt", "capabilities", "implementation", "requestId", "operation", "input",
	"event", "output", "code", "message", "retryable", "future",
}

// mutate changes one thing: a value, a key, a byte, or adds a member.
func mutate(r *rand.Rand, line []byte) []byte {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	switch r.IntN(5) {
	case 0, 1: // another value for a key
		key := `"` + pick(keys) + `":`
		if i := bytes.Index(line, []byte(key)); i >= 0 {
			begin := i + len(key)
			end := begin + valueEnd(line[begin:])
			return []byte(string(line[:begin]) + pick(tokens) + string(line[end:]))
		}
	case 2: // another name for a key
		return bytes.Replace(line, []byte(`"`+pick(keys)+`"`), []byte(`"`+pick(keys)+`"`), 1)
	case 3: // one more member
		if i := bytes.LastIndexByte(line, '}'); i > 0 {
			return fmt.Appendf(nil, `%s,"%s":%s%s`, line[:i], pick(keys), pick(tokens), line[i:])
		}
	case 4: // one byte
		if len(line) > 0 {
			line[r.IntN(len(line))] = bytesToSet[r.IntN(len(bytesToSet))]
		}
	}
	return line
}

// valueEnd is a crude end of a JSON value: exact for the fixtures' compact
// scalars, and enough to break the others.
func valueEnd(s []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}' || c == ',':
			if depth == 0 {
				return i
			}
			if c != ',' {
				depth--
			}
		}
	}
	return len(s)
}

const bytesToSet = "azAZ09.-_:+TZ \"\\{}[],"
