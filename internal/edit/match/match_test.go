package match

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func all(p *Pattern, text string, from int) [][]int {
	var out [][]int
	p.EachFrom([]byte(text), from, func(start, end int) bool {
		out = append(out, []int{start, end})
		return true
	})
	return out
}

func TestMatches(t *testing.T) {
	tests := []struct {
		query, text string
		options     Options
		want        string
	}{
		{"ab", "xabab\nab", Options{}, "[[1 3] [3 5] [6 8]]"},
		{"a.b", "a.b axb", Options{}, "[[0 3]]"},
		{"a\r\nb", "a\nb", Options{}, "[[0 3]]"},
		{"aa", "aaaaa", Options{}, "[[0 2] [2 4]]"},
		{"STRASSE", "strasse Straße", Options{IgnoreCase: true}, "[[0 7]]"},
		{"k", "K\u212a", Options{IgnoreCase: true}, "[[0 1] [1 4]]"},
		{"σ", "ΣΑΣ ς", Options{IgnoreCase: true}, "[[0 2] [4 6] [7 9]]"},
		{"foo", "foo foobar _foo éfoo foo", Options{WholeWord: true}, "[[0 3] [22 25]]"},
		{"aa", "aaa aa", Options{WholeWord: true}, "[[4 6]]"},
		{"^", "a\nb\n", Options{Regex: true}, "[[0 0] [2 2] [4 4]]"},
		{"$", "a\nb", Options{Regex: true}, "[[1 1] [3 3]]"},
		{"a.*", "ab\ncab", Options{Regex: true}, "[[0 2] [4 6]]"},
		{"(?s)a.*", "ab\nc", Options{Regex: true}, "[[0 2]]"},
		{"(?is:A.*)", "ab\nc", Options{Regex: true}, "[[0 2]]"},
		{`a[\s\S]b`, "a\nb", Options{Regex: true}, "[[0 3]]"},
		{`(.|\n)b`, "\nb", Options{Regex: true}, "[[0 2]]"},
		{"x*", "axb", Options{Regex: true}, "[[0 0] [1 2] [3 3]]"},
		{"foo|foobar", "foobar", Options{Regex: true}, "[[0 3]]"},
		{"[a-z]+", "ab12cd ef", Options{Regex: true, WholeWord: true}, "[[7 9]]"},
		{`\bb`, "ab b", Options{Regex: true}, "[[3 4]]"},
		{`\A.`, "ab\nc", Options{Regex: true}, "[[0 1]]"},
		{`.\z`, "ab\nc", Options{Regex: true}, "[[3 4]]"},
		{`n\s+m`, "n \n m", Options{Regex: true}, "[[0 5]]"},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			p, err := Compile(tt.query, tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(all(p, tt.text, 0)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestFromKeepsTheContext(t *testing.T) {
	tests := []struct {
		query string
		from  int
		want  string
	}{
		{`\bb`, 1, "[[3 4]]"},
		{`^b`, 1, "[]"},
		{`b`, 1, "[[1 2] [3 4]]"},
		{`\Ab`, 1, "[]"},
	}
	for _, tt := range tests {
		p, err := Compile(tt.query, Options{Regex: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(all(p, "ab b", tt.from)); got != tt.want {
			t.Errorf("%s from %d: got %s, want %s", tt.query, tt.from, got, tt.want)
		}
	}
}

func TestBadQueries(t *testing.T) {
	tests := []struct {
		query   string
		options Options
	}{
		{"", Options{}},
		{"(", Options{Regex: true}},
		{`(?=a)`, Options{Regex: true}},
		{"a\xff", Options{}},
		{strings.Repeat("a", MaxQuery+1), Options{}},
	}
	for _, tt := range tests {
		var bad *QueryError
		if _, err := Compile(tt.query, tt.options); !errors.As(err, &bad) {
			t.Errorf("%.20q: %v", tt.query, err)
		}
	}
}

func TestWhatIsKnownOfAPattern(t *testing.T) {
	tests := []struct {
		query    string
		perLine  bool
		required string
	}{
		{`foo\w+bar`, true, "foo"},
		{`(?i)foo\w+12345`, true, "12345"},
		{`(ab|cd)+`, true, ""},
		{`x(abc)+y?`, true, "abc"},
		{`a\s`, false, "a"},
		{`[^a]`, false, ""},
		{`[^a\n]`, true, ""},
		{`^a$`, true, "a"},
	}
	for _, tt := range tests {
		p, err := Compile(tt.query, Options{Regex: true})
		if err != nil {
			t.Fatal(err)
		}
		if p.PerLine() != tt.perLine || string(p.Required()) != tt.required {
			t.Errorf("%s: per line %v, required %q", tt.query, p.PerLine(), p.Required())
		}
	}
}

// genRegex draws expressions from a grammar that has every kind of node.
func genRegex(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		"a", "b", "ab", "é", "😀", ".", `\w`, `\W`, `\s`, `\d`, "[^a]", "[a-c]", "[^\\n]", `\n`, `[\s\S]`,
		"^", "$", `\b`, `\B`, `\A`, `\z`, "", "(?i:k)", "(?i:aB)", `\pL`, "(?s:.)", "(?-m:^)", "(?-m:$)",
	})
	if depth == 0 {
		return leaf
	}
	sub := genRegex(depth - 1)
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 5).Draw(t, "node") {
		case 0:
			return leaf.Draw(t, "leaf")
		case 1:
			return sub.Draw(t, "a") + sub.Draw(t, "b")
		case 2:
			return "(?:" + sub.Draw(t, "a") + "|" + sub.Draw(t, "b") + ")"
		case 3:
			return "(" + sub.Draw(t, "a") + ")"
		default:
			rep := rapid.SampledFrom([]string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?"}).Draw(t, "rep")
			return "(?:" + sub.Draw(t, "a") + ")" + rep
		}
	})
}

var genText = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "c", "A", "K", "\u212a", "é", "😀", "\n", "\n", " ", "_", "1", "\r", "-",
	}), 0, 30).Draw(t, "text"), "")
})

// standard gives the matches of the standard library.
func standard(query, text string) [][]int {
	return regexp.MustCompile("(?m)"+dotNeverLineEnd(query)).FindAllStringIndex(text, -1)
}

func TestAgreesWithStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		query := genRegex(3).Draw(t, "query")
		p, err := Compile(query, Options{Regex: true})
		if err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		for range 3 {
			text := genText.Draw(t, "text")
			if got, want := all(p, text, 0), standard(query, text); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q in %q: got %v, want %v", query, text, got, want)
			}
		}
	})
}

func FuzzAgainstStandardLibrary(f *testing.F) {
	f.Add(`(a|ab)(c|bcd)(d*)`, "abcd\nabcd")
	f.Add(`(?i)\bstra(ss|ß)e$`, "Strasse\nSTRASSE x")
	f.Add(`[^"]*"`, "a\"b\nc\"")
	f.Fuzz(func(t *testing.T, query, text string) {
		if len(query) > 100 || len(text) > 1000 || !utf8.ValidString(text) || strings.ContainsRune(query, '\r') {
			return
		}
		p, err := Compile(query, Options{Regex: true})
		re, want := regexp.Compile("(?m)" + dotNeverLineEnd(query))
		if (err == nil) != (want == nil) {
			t.Fatalf("%q: %v, the standard library: %v", query, err, want)
		}
		if err != nil {
			return
		}
		if got, want := all(p, text, 0), re.FindAllStringIndex(text, -1); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in %q: got %v, want %v", query, text, got, want)
		}
	})
}

// TestFullTableStartsAnew uses an expression with more states than the table
// holds.
func TestFullTableStartsAnew(t *testing.T) {
	query := `(a|b)*a(a|b){14}c`
	p, err := Compile(query, Options{Regex: true})
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat("x", 1<<18))
	seed := uint32(1)
	for i := range text {
		seed = seed*1664525 + 1013904223
		text[i] = "aaabbbbaabbaabc\n"[seed>>28]
	}
	got, want := all(p, string(text), 0), standard(query, string(text))
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%d matches, want %d", len(got), len(want))
	}
}

func TestRareIsIndex(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "ab", "z", "zz", "é", " "})
	rapid.Check(t, func(t *rapid.T) {
		literal := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "literal"), "")
		text := strings.Join(rapid.SliceOfN(part, 0, 120).Draw(t, "text"), "")
		if got, want := newRare([]byte(literal)).index([]byte(text)), strings.Index(text, literal); got != want {
			t.Fatalf("%q in %q: got %d, want %d", literal, text, got, want)
		}
	})
}
