package charset

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dragoman/internal/edit/text"
)

func loadBytes(b []byte, o Options) (text.Text, Format, error) {
	return Load(bytes.NewReader(b), int64(len(b)), o)
}

func TestDetection(t *testing.T) {
	tests := []struct {
		name, file string
		encoding   string
		want       Format
		text       string
	}{
		{"empty", "", "", Format{UTF8, false}, ""},
		{"utf-8", "é\r\n", "", Format{UTF8, false}, "é\n"},
		{"utf-8 mark", "\xef\xbb\xbfé", "", Format{UTF8, true}, "é"},
		{"utf-8 mark, not utf-8", "\xef\xbb\xbf\xff", "", Format{Latin1, false}, "ï»¿ÿ"},
		{"latin-1", "caf\xe9", "", Format{Latin1, false}, "café"},
		{"utf-16le mark", "\xff\xfea\x00\r\x00\n\x00", "", Format{UTF16LE, true}, "a\n"},
		{"utf-16be mark", "\xfe\xff\xd8\x3d\xde\x00", "", Format{UTF16BE, true}, "😀"},
		{"utf-16 mark, half a pair", "\xfe\xff\xd8\x3dab", "", Format{Latin1, false}, "þÿØ=ab"},
		{"named utf-16", "a\x00", "UTF-16LE", Format{UTF16LE, false}, "a"},
		{"named latin1", "é", "latin1", Format{Latin1, false}, "Ã©"},
		{"label", "\x83n\x83\x8d\x81[", "sjis", Format{"shift_jis", false}, "ハロー"},
		{"windows", "\x80", "cp1252", Format{"windows-1252", false}, "€"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, f, err := loadBytes([]byte(tt.file), Options{Encoding: tt.encoding})
			if err != nil {
				t.Fatal(err)
			}
			if f != tt.want || got.String() != tt.text {
				t.Errorf("got %q in %v, want %q in %v", got.String(), f, tt.text, tt.want)
			}
			var out bytes.Buffer
			if err := Write(&out, got, f); err != nil || out.String() != tt.file {
				t.Errorf("wrote %q, %v", out.String(), err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	undecodable := func(err error) bool { var e *UndecodableError; return errors.As(err, &e) }
	tests := []struct {
		name, file string
		options    Options
		ok         func(error) bool
	}{
		{"NUL", "a\x00b", Options{}, func(err error) bool { return errors.Is(err, ErrBinary) }},
		{"NUL, named", "a\x00b", Options{Encoding: "utf-8"}, func(err error) bool { return errors.Is(err, ErrBinary) }},
		{"NUL, allowed", "a\x00b", Options{Binary: AllowBinary}, func(err error) bool { return err == nil }},
		{"NUL far on", strings.Repeat("a", BinaryProbe) + "\x00", Options{}, func(err error) bool { return err == nil }},
		{"named utf-8", "a\xff", Options{Encoding: "utf-8"}, undecodable},
		{"odd utf-16", "a\x00b", Options{Encoding: "utf-16le"}, undecodable},
		{"half a pair", "\x3d\xd8", Options{Encoding: "utf-16le"}, undecodable},
		{"bytes that don't come back", "\x81\x20", Options{Encoding: "shift_jis"}, undecodable},
		{"unknown", "a", Options{Encoding: "klingon"}, func(err error) bool { return errors.Is(err, ErrUnknown) }},
	}
	for _, tt := range tests {
		if _, _, err := loadBytes([]byte(tt.file), tt.options); !tt.ok(err) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	var bad *UndecodableError
	if _, _, err := loadBytes([]byte(strings.Repeat("é", 40000)+"\xff"), Options{Encoding: "utf-8"}); !errors.As(err, &bad) || bad.Offset != 80000 {
		t.Errorf("got %v, want the offset 80000", err)
	}
}

func TestUnencodableCharacter(t *testing.T) {
	content, _, err := loadBytes([]byte("a\r\né\n€x"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Latin1, "iso-8859-2"} {
		var bad *CharError
		err := Write(&bytes.Buffer{}, content, Format{Encoding: name})
		if !errors.As(err, &bad) || bad.Char != '€' || bad.Offset != 5 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBytesOutsideEditsStay is the fidelity rule of core.md §5: any bytes, any
// edit, save: the bytes on either side of the edit are those of the file.
func TestBytesOutsideEditsStay(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "\n", "\r\n", "\r", "é", "\xe9", "\xff", "\xfe\xff", "\xff\xfe", "\xef\xbb\xbf", "😀", "\x00", "語", "\x81"})
	rapid.Check(t, func(t *rapid.T) {
		file := []byte(strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), ""))
		encoding := rapid.SampledFrom([]string{"", "", "", UTF8, Latin1, UTF16LE, UTF16BE, "shift_jis", "gbk", "windows-1252"}).Draw(t, "encoding")
		content, f, err := loadBytes(file, Options{Encoding: encoding, Binary: AllowBinary})
		if err != nil {
			if encoding == "" {
				t.Fatalf("%q can't be opened: %v", file, err)
			}
			return
		}
		encode := func(c text.Text) []byte {
			var out bytes.Buffer
			if err := Write(&out, c, f); err != nil {
				t.Fatalf("%q in %v: %v", file, f, err)
			}
			return out.Bytes()
		}
		if got := encode(content); !bytes.Equal(got, file) {
			t.Fatalf("%q in %v comes back as %q", file, f, got)
		}
		s := text.NewStore(content, 0)
		cut := func(name string) int {
			off := rapid.IntRange(0, content.Len()).Draw(t, name)
			for !content.Boundary(off) {
				off++
			}
			return off
		}
		start, end := cut("start"), cut("end")
		if start > end {
			start, end = end, start
		}
		ins := rapid.SampledFrom([]string{"", "x", "x\n", "\xff"}).Draw(t, "ins")
		if err := s.Apply([]text.Edit{{Start: start, End: end, Text: []byte(ins)}}, text.Step{}); err != nil {
			t.Fatal(err)
		}
		before := text.NewStore(content, 0)
		if err := before.Apply([]text.Edit{{Start: start, End: content.Len()}}, text.Step{}); err != nil {
			t.Fatal(err)
		}
		got, left := encode(s.View()), encode(before.View())
		if !bytes.HasPrefix(file, left) || !bytes.HasPrefix(got, left) {
			t.Fatalf("%q: before the edit %q, saved %q", file, left, got)
		}
		after := text.NewStore(content, 0)
		if err := after.Apply([]text.Edit{{Start: 0, End: end}}, text.Step{}); err != nil {
			t.Fatal(err)
		}
		f.BOM = false
		if right := encode(after.View()); !bytes.HasSuffix(file, right) || !bytes.HasSuffix(got, right) {
			t.Fatalf("%q: after the edit %q, saved %q", file, right, got)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00"), "")
	f.Add([]byte("\x1b$B$\"\x1b(B"), "iso-2022-jp")
	f.Add([]byte("\x81\x30\x81\x30"), "gb18030")
	f.Fuzz(func(t *testing.T, file []byte, encoding string) {
		content, format, err := loadBytes(file, Options{Encoding: encoding, Binary: AllowBinary})
		if err != nil {
			if encoding == "" {
				t.Fatal(err)
			}
			return
		}
		var out bytes.Buffer
		if err := Write(&out, content, format); err != nil || !bytes.Equal(out.Bytes(), file) {
			t.Fatalf("%q in %v: %q, %v", file, format, out.Bytes(), err)
		}
	})
}

// TestWireIsWhatABufferShows holds the search's way of decoding against the
// buffers'.
func TestWireIsWhatABufferShows(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "\n", "\r\n", "\r", "é", "\xe9", "\xff\xfe", "\xfe\xff", "\xef\xbb\xbf", "\x00", "b\x00"})
	rapid.Check(t, func(t *rapid.T) {
		file := strings.Join(rapid.SliceOfN(part, 0, 20).Draw(t, "parts"), "")
		want, _, err := loadBytes([]byte(file), Options{})
		got, wireErr := Wire([]byte(file))
		if !errors.Is(wireErr, err) || err == nil && string(got) != want.String() {
			t.Fatalf("%q: got %q, %v, want %q, %v", file, got, wireErr, want.String(), err)
		}
	})
}
