package envelope_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/envelope"
)

const schemaDir = "../../schemas/agent-protocol/v1"

// An invalidFixture is one line of fixtures/invalid.jsonl: the line in one of
// three forms, and the error that it gets.
type invalidFixture struct {
	Code   envelope.Code    `json:"code"`
	Offset int              `json:"offset"`
	Why    string           `json:"why"`
	Text   string           `json:"line"`
	Base64 string           `json:"base64"`
	Parts  []jsontext.Value `json:"parts"`
}

func (f invalidFixture) line(t testing.TB) []byte {
	t.Helper()
	switch {
	case f.Base64 != "":
		b, err := base64.StdEncoding.DecodeString(f.Base64)
		if err != nil {
			t.Fatal(err)
		}
		return b
	case f.Parts == nil:
		return []byte(f.Text)
	}
	var b []byte
	for _, p := range f.Parts {
		var text string
		if json.Unmarshal(p, &text) == nil {
			b = append(b, text...)
			continue
		}
		var repeat struct {
			Repeat string `json:"repeat"`
			Times  int    `json:"times"`
		}
		if err := json.Unmarshal(p, &repeat); err != nil {
			t.Fatal(err)
		}
		b = append(b, strings.Repeat(repeat.Repeat, repeat.Times)...)
	}
	return b
}

func validFixtures(t testing.TB) [][]byte {
	t.Helper()
	return fixtureLines(t, "valid.jsonl")
}

func invalidFixtures(t testing.TB) []invalidFixture {
	t.Helper()
	var list []invalidFixture
	for _, line := range fixtureLines(t, "invalid.jsonl") {
		var f invalidFixture
		if err := json.Unmarshal(line, &f, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

func fixtureLines(t testing.TB, name string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(schemaDir, "fixtures", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

func TestValidFixtures(t *testing.T) {
	d := envelope.NewDecoder(envelope.Limits{})
	for _, line := range validFixtures(t) {
		if _, err := d.Decode(line); err != nil {
			t.Errorf("%v in %.200s", err, line)
		}
	}
}

func TestInvalidFixtures(t *testing.T) {
	d := envelope.NewDecoder(envelope.Limits{})
	for _, f := range invalidFixtures(t) {
		line := f.line(t)
		_, err := d.Decode(line)
		got, ok := err.(*envelope.Error)
		if !ok || got.Code != f.Code || got.Offset != f.Offset {
			t.Errorf("%s: got %v, want %s at byte %d, in %.200q", f.Why, err, f.Code, f.Offset, line)
		}
	}
}

// Every parse-level code that one line can have by itself is a fixture.
func TestFixturesHaveEveryCode(t *testing.T) {
	have := make(map[envelope.Code]bool)
	for _, f := range invalidFixtures(t) {
		have[f.Code] = true
	}
	for _, code := range []envelope.Code{
		envelope.LineTooLarge, envelope.InvalidJSON, envelope.InvalidUTF8, envelope.DuplicateKey, envelope.BudgetExceeded,
		envelope.UnsupportedVersion, envelope.UnknownKind, envelope.InvalidEnvelope,
	} {
		if !have[code] {
			t.Errorf("no fixture for %s", code)
		}
	}
}

// A sessionFixture is one line of fixtures/sessions.jsonl: what one side of a
// connection lives through, and the code that the last line gets, if any.
type sessionFixture struct {
	Why          string   `json:"why"`
	Side         string   `json:"side"`
	Capabilities []string `json:"capabilities"`
	Lines        []struct {
		From     string         `json:"from"`
		Envelope jsontext.Value `json:"envelope"`
	} `json:"lines"`
	Code envelope.Code `json:"code"`
}

func TestSessionFixtures(t *testing.T) {
	for _, line := range fixtureLines(t, "sessions.jsonl") {
		var f sessionFixture
		if err := json.Unmarshal(line, &f, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		t.Run(f.Why, func(t *testing.T) { playFixture(t, f) })
	}
}

func playFixture(t *testing.T, f sessionFixture) {
	sides := map[string]envelope.Side{"host": envelope.HostSide, "agent": envelope.AgentSide}
	s := envelope.NewSession(sides[f.Side], f.Capabilities, envelope.Limits{})
	d := envelope.NewDecoder(envelope.Limits{})
	for i, l := range f.Lines {
		e, err := d.Decode(l.Envelope)
		if err != nil {
			t.Fatal(err)
		}
		if l.From == "own" {
			if _, err := s.Send(e); err != nil {
				t.Fatalf("line %d: %v", i, err)
			}
			continue
		}
		want := envelope.Code("")
		if i == len(f.Lines)-1 {
			want = f.Code
		}
		_, wrong := s.Receive(e)
		if (wrong == nil) != (want == "") || wrong != nil && wrong.Code != want {
			t.Errorf("line %d: got %v, want %q", i, wrong, want)
		}
	}
}
