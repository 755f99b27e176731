package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func TestScan(t *testing.T) {
	tests := []struct {
		name, line string
		limits     Limits
		code       Code
		offset     int
	}{
		{name: "object", line: `{"a":1,"b":[true,false,null,-0.5e+10,"x"]}`},
		{name: "space", line: " \t\r\n[ 1 , { } , [ ] ] \r\n"},
		{name: "scalar", line: `0`},
		{name: "nothing", line: ``, code: InvalidJSON},
		{name: "only space", line: `  `, code: InvalidJSON, offset: 2},
		{name: "separators of text", line: "[\"\u2028\u2029\u0085\u007f\"]"},
		{name: "raw VT", line: "[\"\v\"]", code: InvalidJSON, offset: 2},
		{name: "trailing", line: `{} {}`, code: TrailingData, offset: 3},
		{name: "trailing comma", line: `[1,]`, code: InvalidJSON, offset: 3},
		{name: "trailing comma in object", line: `{"a":1,}`, code: InvalidJSON, offset: 7},
		{name: "no value", line: `{"a":}`, code: InvalidJSON, offset: 5},
		{name: "no colon", line: `{"a" 1}`, code: InvalidJSON, offset: 5},
		{name: "number as key", line: `{1:2}`, code: InvalidJSON, offset: 1},
		{name: "two values", line: `[1 2]`, code: InvalidJSON, offset: 3},
		{name: "wrong bracket", line: `[1}`, code: InvalidJSON, offset: 2},
		{name: "open string", line: `"abc`, code: InvalidJSON, offset: 4},
		{name: "open array", line: `[[1]`, code: InvalidJSON, offset: 4},
		{name: "leading zero", line: `01`, code: InvalidJSON, offset: 1},
		{name: "leading zero after sign", line: `-012`, code: InvalidJSON, offset: 2},
		{name: "no digits", line: `[1.]`, code: InvalidJSON, offset: 3},
		{name: "no exponent", line: `1e+`, code: InvalidJSON, offset: 3},
		{name: "plus", line: `+1`, code: InvalidJSON},
		{name: "word", line: `nul`, code: InvalidJSON, offset: 3},
		{name: "control character", line: "\"a\x1f\"", code: InvalidJSON, offset: 2},
		{name: "bad escape", line: `"a\x"`, code: InvalidJSON, offset: 3},
		{name: "bad hex", line: `"\u12g4"`, code: InvalidJSON, offset: 5},
		{name: "BOM", line: "\ufeff{}", code: InvalidJSON},
		{name: "invalid UTF-8 in string", line: "\"0123456789abcdef\xff\"", code: InvalidUTF8, offset: 17},
		{name: "invalid UTF-8 outside", line: "[1,\xff]", code: InvalidUTF8, offset: 3},
		{name: "surrogate in UTF-8", line: "\"\xed\xa0\x80\"", code: InvalidUTF8, offset: 1},
		{name: "overlong", line: "\"\xc0\xaf\"", code: InvalidUTF8, offset: 1},
		{name: "surrogate pair", line: `"\ud83d\ude00"`},
		{name: "high alone", line: `"ab\ud83d"`, code: LoneSurrogate, offset: 3},
		{name: "high twice", line: `"\ud83d\ud83d\ude00"`, code: LoneSurrogate, offset: 1},
		{name: "low alone", line: `"\ude00"`, code: LoneSurrogate, offset: 1},
		{name: "duplicate", line: `{"a":1,"a":2}`, code: DuplicateKey, offset: 7},
		{name: "duplicate escaped", line: `{"a\/":1,"\u0061/":2}`, code: DuplicateKey, offset: 9},
		{name: "duplicate deep", line: `[{"a":{"b":1,"c":2,"b":3}}]`, code: DuplicateKey, offset: 19},
		{name: "duplicate empty", line: `{"":1,"":2}`, code: DuplicateKey, offset: 6},
		{name: "case differs", line: `{"method":1,"Method":2}`},
		{name: "same key in siblings", line: `[{"a":1},{"a":2},{"a":{"a":{}}}]`},
		{name: "depth of default", line: strings.Repeat("[", 1000) + strings.Repeat("]", 1000)},
		{name: "too deep", line: strings.Repeat("[", 100000), code: TooDeep, offset: 1000},
		{name: "too deep by option", line: `{"a":[1]}`, limits: Limits{Depth: 1}, code: TooDeep, offset: 5},
		{name: "values", line: `{"a":[1,2]}`, limits: Limits{Values: 4}},
		{name: "too many values", line: `{"a":[1,2]}`, limits: Limits{Values: 3}, code: TooManyValues, offset: 8},
		{name: "array", line: `[[1,2],[3,4]]`, limits: Limits{ArrayLen: 2}},
		{name: "array too long", line: `[1,2,3]`, limits: Limits{ArrayLen: 2}, code: ArrayTooLong, offset: 5},
		{name: "string by decoded bytes", line: `"\u00e9\ud83d\ude00\n"`, limits: Limits{StringBytes: 7}},
		{name: "string too long", line: ` "\u00e9\ud83d\ude00\n"`, limits: Limits{StringBytes: 6}, code: StringTooLong, offset: 1},
		{name: "budget before a later error", line: `"abcdef\x"`, limits: Limits{StringBytes: 3}, code: StringTooLong},
		{name: "UTF-8 before the budget", line: "\"abcdef\xff\"", limits: Limits{StringBytes: 3}, code: InvalidUTF8, offset: 7},
		{name: "UTF-8 before a later escape", line: "\"a\xffb\\x\"", code: InvalidUTF8, offset: 2},
		{name: "UTF-8 before a later surrogate", line: "\"a\xffb\\ud800\"", code: InvalidUTF8, offset: 2},
		{name: "backslash at the end", line: `"a\`, code: InvalidJSON, offset: 2},
		{name: "UTF-8 cut off", line: "\"\xe2\x82\"", code: InvalidUTF8, offset: 1},
		{name: "key too long", line: `{"abc":1}`, limits: Limits{StringBytes: 2}, code: StringTooLong, offset: 1},
		{name: "digits", line: `-12.34e-56`, limits: Limits{NumberDigits: 6}},
		{name: "number too long", line: `[-12.34e-56]`, limits: Limits{NumberDigits: 5}, code: NumberTooLong, offset: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Scanner{Limits: tt.limits}
			for range 2 { // the second time with used memory
				checkVerdict(t, s.Scan([]byte(tt.line)), tt.code, tt.offset)
			}
		})
	}
}

func checkVerdict(t *testing.T, err error, code Code, offset int) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Fatalf("got %v, want no error", err)
		}
		return
	}
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Code != code || syntax.Offset != offset {
		t.Fatalf("got %v, want %s at byte %d", err, code, offset)
	}
}

func TestScanLargeObjects(t *testing.T) {
	object := func(n int, last string) []byte {
		var b bytes.Buffer
		b.WriteByte('{')
		for i := range n {
			fmt.Fprintf(&b, `"k%d":{"k%d":1,"x\u0041%d":2},`, i, i, i)
		}
		fmt.Fprintf(&b, `%s:0}`, last)
		return b.Bytes()
	}
	var s Scanner
	for _, n := range []int{1, 15, 16, 17, 31, 63, 64, 65, 1000, 50000} {
		if err := s.Scan(object(n, `"new"`)); err != nil {
			t.Fatalf("%d members: %v", n, err)
		}
		if got := len(s.Members()); got != n+1 {
			t.Fatalf("got %d members, want %d", got, n+1)
		}
		for _, dup := range []string{`"k0"`, fmt.Sprintf(`"\u006b%d"`, n/2), fmt.Sprintf(`"k%d"`, n-1)} {
			var syntax *SyntaxError
			if err := s.Scan(object(n, dup)); !errors.As(err, &syntax) || syntax.Code != DuplicateKey {
				t.Fatalf("%d members and %s again: got %v", n, dup, err)
			}
		}
	}
	var b bytes.Buffer
	for i := range MaxMembers + 1 {
		fmt.Fprintf(&b, `,"%d":0`, i)
	}
	line := append(append([]byte{'{'}, b.Bytes()[1:]...), '}')
	checkVerdict(t, s.Scan(line), TooManyMembers, bytes.Index(line, []byte(`"1000000"`)))
}

func TestMembers(t *testing.T) {
	line := []byte(` { "method" : "x" ,"Method":[1, 2],"\u0069d": 1.0 , "params":{"a":"\"}"} } `)
	want := []string{`method:"x"`, `Method:[1, 2]`, `id:1.0`, `params:{"a":"\"}"}`}
	var s Scanner
	if err := s.Scan(line); err != nil || s.Kind() != Object {
		t.Fatal(err, s.Kind())
	}
	nested, err := Members(line)
	if err != nil {
		t.Fatal(err)
	}
	for _, members := range [][]Member{s.Members(), nested} {
		if len(members) != len(want) {
			t.Fatalf("got %d members", len(members))
		}
		for i, m := range members {
			if got := string(m.Key) + ":" + string(m.Value.Of(line)); got != want[i] {
				t.Errorf("got %s, want %s", got, want[i])
			}
		}
	}
	if m, ok := s.Find("id"); !ok || m.Kind != Number || string(m.KeySpan.Of(line)) != `"\u0069d"` {
		t.Errorf("id: %+v, %v", m, ok)
	}
	if _, ok := s.Find("ID"); ok {
		t.Error("ID was found")
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"a","params":{"\u0061":["` + strings.Repeat("text ", 100) + `"],"b":{"c":{}}}}`)
	var s Scanner
	if n := testing.AllocsPerRun(100, func() { _ = s.Scan(line) }); n > 0 {
		t.Errorf("%v allocations a line", n)
	}
}

// oracle is jsontext's verdict on one line.
func oracle(line []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(line))
	if _, err := d.ReadValue(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return fmt.Errorf("trailing data: %w", err)
	}
	return nil
}

var scanSeeds = []string{
	`{"a":1,"b":[true,null],"c":{"d":"\ud83d\ude00"}}`, `{"a":1,"\u0061":2}`, `"\ud83d"`, "\"\xff\"", `[[[[]]]]`, `-0.0e-0`, `[1,]`, ` {} x`, `01`,
	`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"n":0,"o":0,"p":0,"q":0,"r":0,"a":0}`,
}

func FuzzScan(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
	}
	var s Scanner
	f.Fuzz(func(t *testing.T, line []byte) {
		s.Limits.Depth = 10000 // jsontext's
		err, want := s.Scan(line), oracle(line)
		if (err == nil) != (want == nil) {
			t.Fatalf("got %v, jsontext %v", err, want)
		}
		var syntax *SyntaxError
		if errors.As(err, &syntax) && (syntax.Offset < 0 || syntax.Offset > len(line)) {
			t.Fatalf("offset %d in %d bytes", syntax.Offset, len(line))
		}
		if err == nil {
			checkMembers(t, &s, line)
		}
	})
}

// checkMembers compares the spans of the scanner, those of Members and Get, and
// jsontext's reading of the keys.
func checkMembers(t *testing.T, s *Scanner, line []byte) {
	if s.Kind() != Object {
		return
	}
	nested, err := Members(line)
	if err != nil || len(nested) != len(s.Members()) {
		t.Fatalf("Members gives %d and %v, the scanner %d", len(nested), err, len(s.Members()))
	}
	for i, m := range s.Members() {
		n := nested[i]
		if !bytes.Equal(m.Key, n.Key) || m.KeySpan != n.KeySpan || m.Value != n.Value || m.Kind != n.Kind {
			t.Fatalf("got %+v, want %+v", n, m)
		}
		key, err := jsontext.AppendUnquote(nil, m.KeySpan.Of(line))
		if err != nil || !bytes.Equal(key, m.Key) {
			t.Fatalf("key %q, jsontext %q, %v", m.Key, key, err)
		}
		raw, kind, ok := Get(line, string(m.Key))
		if !ok || kind != m.Kind || !bytes.Equal(raw, m.Value.Of(line)) {
			t.Fatalf("Get(%q) gives %q", m.Key, raw)
		}
		cut := Cut(line, string(m.Key))
		if oracle(cut) != nil || len(cut) >= len(line) {
			t.Fatalf("without %q: %q", m.Key, cut)
		}
	}
}

func FuzzRepair(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"a":{"b":1,"b":2},"a":{"c":3,"c":4,"c":5},"d":"\udead\ud800x"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		fixed, changed, err := Repair(nil, line)
		switch {
		case err != nil:
			if oracle(line) == nil {
				t.Fatalf("valid line refused: %v", err)
			}
		case oracle(fixed) != nil:
			t.Fatalf("repaired line is broken: %v\n%q", oracle(fixed), fixed)
		case !changed && !bytes.Equal(line, fixed):
			t.Fatal("changed without saying so")
		case changed && oracle(line) == nil:
			t.Fatalf("valid line changed to %q", fixed)
		}
		if !changed {
			return
		}
		// jsontext, told to be lenient, must have read it as well.
		d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		_, lenientErr := d.ReadValue()
		if err == nil && lenientErr != nil {
			t.Fatalf("jsontext refuses it even leniently: %v", lenientErr)
		}
	})
}

func TestRepair(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"valid", `{"a":1}`, `{"a":1}`},
		{"half a pair", `{"a":"x\ud83dy"}`, `{"a":"x` + "\ufffd" + `y"}`},
		{"half a pair at the end", `"\ude00"`, "\"\ufffd\""},
		{"high, then pair", `"\ud83d\ud83d\ude00"`, "\"\ufffd" + `\ud83d\ude00"`},
		{"invalid UTF-8", "{\"a\":\"\xff\xfe\"}", "{\"a\":\"\ufffd\ufffd\"}"},
		{"last counts", `{"a":1,"b":2,"a":3}`, `{"b":2,"a":3}`},
		{"last of three", `{"a":1, "a":2 ,"a":3}`, `{"a":3}`},
		{"nested in dropped", `{"a":{"b":1,"b":2},"a":{"c":3,"c":4}}`, `{"a":{"c":4}}`},
		{"equal after repair", `{"\ud800":1,"` + "\ufffd" + `":2}`, "{\"\ufffd\":2}"},
		{"brace in string", `{"a":"}\"","a":[{"a":0}]}`, `{"a":[{"a":0}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, changed, err := Repair(nil, []byte(tt.line))
			if err != nil || string(got) != tt.want || changed != (tt.line != tt.want) {
				t.Fatalf("got %q, %v, %v", got, changed, err)
			}
		})
	}
	if _, _, err := Repair(nil, []byte(`[INFO] hello`)); err == nil {
		t.Error("a banner was repaired")
	}
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"k%d":%d,`, i%20, i)
	}
	got, _, err := Repair(nil, []byte("{"+strings.TrimSuffix(many.String(), ",")+"}"))
	if err != nil || oracle(got) != nil || !bytes.HasPrefix(got, []byte(`{"k0":80,"k1":81,`)) {
		t.Errorf("many duplicates: %q, %v", got, err)
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\"\\\n\x00\x1f\u2028\xff<>&😀")
	f.Fuzz(func(t *testing.T, s string) {
		q := AppendQuote(nil, s)
		got, err := Unquote(nil, q)
		if err != nil || string(got) != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("%q -> %s -> %q, %v", s, q, got, err)
		}
		got, err = Unquote(nil, []byte(s))
		want, wantErr := jsontext.AppendUnquote(nil, []byte(s))
		if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("Unquote(%q) = %q, %v; jsontext %q, %v", s, got, err, want, wantErr)
		}
	})
}

func TestGetAndCut(t *testing.T) {
	v := []byte(`{"a":{"B":1,"b":[{"c":2}]},"z":null}`)
	if raw, kind, ok := Get(v, "a", "b"); !ok || kind != Array || string(raw) != `[{"c":2}]` {
		t.Errorf("got %q, %v, %v", raw, kind, ok)
	}
	for _, path := range [][]string{{"a", "c"}, {"A"}, {"z", "x"}, {"a", "b", "c"}} {
		if raw, _, ok := Get(v, path...); ok {
			t.Errorf("%v gives %q", path, raw)
		}
	}
	for _, tt := range [][3]string{
		{`{"a":1}`, "a", `{}`}, {`{ "a":1 , "b":2 }`, "a", `{ "b":2 }`}, {`{ "a":1 , "b":2 }`, "b", `{ "a":1 }`},
		{`{"a":1,"b":2,"c":3}`, "b", `{"a":1,"c":3}`}, {`{"a":1}`, "x", `{"a":1}`}, {`[]`, "x", `[]`},
	} {
		if got := string(Cut([]byte(tt[0]), tt[1])); got != tt[2] {
			t.Errorf("%s without %s: got %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

// FuzzValue feeds the helpers for valid JSON with anything: they may answer
// nonsense, but not panic.
func FuzzValue(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		members, _ := Members(b)
		for _, m := range members {
			if m.Value.Start >= m.Value.End || m.Value.End > len(b) {
				t.Fatalf("span %+v in %d bytes", m.Value, len(b))
			}
		}
		Get(b, "a", "b")
		Cut(b, "a")
	})
}
