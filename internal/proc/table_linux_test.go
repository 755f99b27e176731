package proc

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestParseStat(t *testing.T) {
	const rest = " 7 11 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 5555 1 2"
	tests := map[string]struct {
		line string
		want entry
		ok   bool
	}{
		"plain":             {"42 (sh) S" + rest, entry{42, 7, 11, 12, 5555, false, "sh"}, true},
		"blanks and parens": {"42 (a) S (b c) R" + rest, entry{42, 7, 11, 12, 5555, false, "a) S (b c"}, true},
		"zombie":            {"42 (sh) Z" + rest, entry{42, 7, 11, 12, 5555, true, "sh"}, true},
		"first thread gone": {"42 (sh) Z" + strings.Replace(rest, " 1 0 5555", " 4 0 5555", 1), entry{42, 7, 11, 12, 5555, false, "sh"}, true},
		"short":             {"42 (sh) S 7 11", entry{}, false},
		"no name":           {"42 sh S" + rest, entry{}, false},
		"empty":             {"", entry{}, false},
		"no number":         {"x (sh) S" + rest, entry{}, false},
	}
	for name, tt := range tests {
		got, ok := parseStat([]byte(tt.line))
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v %v", name, got, ok)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("42 (a) S (b c) R 7 11 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 5555"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, line []byte) {
		if e, ok := parseStat(line); ok && !strings.Contains(string(line), "("+e.name+")") {
			t.Errorf("name %q isn't in %q", e.name, line)
		}
	})
}

func TestMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instance := rapid.Uint32().Draw(t, "instance")
		seq := rapid.Uint64().Draw(t, "seq")
		m := newMark(instance, seq)
		if !m.valid() || !m.of(instance) || m.of(instance+1) {
			t.Fatalf("mark %x of %x", m, instance)
		}
		if next := newMark(instance, seq+1); next == m {
			t.Fatalf("two starts share mark %x", m)
		}
	})
	for text, want := range map[string]mark{
		"": 0,
		"Max realtime timeout      unlimited            unlimited            us        \n":     0,
		"Max realtime timeout      200000               unlimited            us        \n":     0,
		"Max nice priority 0 0\nMax realtime timeout      5350586430046961665 unlimited us\nx": 5350586430046961665,
		"Max realtime timeout":        0,
		"Max realtime timeout  \nx y": 0,
	} {
		if got := parseMark([]byte(text)); got != want {
			t.Errorf("%q: %x, want %x", text, got, want)
		}
	}
}

func TestMarkIsUndone(t *testing.T) {
	children.Lock()
	defer children.Unlock()
	var before, after unix.Rlimit
	unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &before)
	m := newMark(7, 9)
	undo, ok := m.put()
	if !ok || markOf(os.Getpid()) != m {
		t.Errorf("our mark is %x (%v)", markOf(os.Getpid()), ok)
	}
	undo()
	unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &after)
	if before != after {
		t.Errorf("limit %+v became %+v", before, after)
	}
}
