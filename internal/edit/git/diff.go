package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Limits of a difference, in bytes.
const (
	// maxFileDiff is how much of a file's hunks is told (core.md §6, Hunk).
	maxFileDiff = 1 << 20
	// maxDiff is how much of all files together is.
	maxDiff = 24 << 20
	// lineCost is what a line takes beside its text.
	lineCost = 24
	// maxPatch is how much of a file's difference is kept to be applied.
	maxPatch = 64 << 20
)

// defaultContext is how many lines around a change are told.
const defaultContext = 3

// maxContext keeps numbers within what git takes.
const maxContext = 1 << 30

// diffArgs are the options that fix the form of a difference, whatever the
// configuration says.
func diffArgs(context int) []string {
	return []string{
		"--raw", "-z", "-p", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
		"--find-renames", "--submodule=short", "--ignore-submodules=none", "--src-prefix=a/", "--dst-prefix=b/",
		"--inter-hunk-context=0", "--no-relative", "--diff-algorithm=myers", "-U" + strconv.Itoa(context),
	}
}

func (s *Space) diff(ctx context.Context, _ op.Call, p core.GitDiffParams) (core.GitDiffResult, error) {
	c, err := s.diffCall(p)
	if err != nil {
		return core.GitDiffResult{}, err
	}
	r, err := s.repo(ctx, p.Root)
	if err != nil {
		return core.GitDiffResult{}, err
	}
	spec, err := s.pathspec(r, p.Raw())
	if err != nil {
		return core.GitDiffResult{}, err
	}
	c.dir = r.top
	files, err := s.diffFiles(ctx, c.about(spec), contextOf(p))
	return core.GitDiffResult{Files: files}, err
}

func contextOf(p core.GitDiffParams) int {
	if p.Context == nil {
		return defaultContext
	}
	return *p.Context
}

// diffCall makes the call of a difference between what params name.
func (s *Space) diffCall(p core.GitDiffParams) (call, error) {
	switch lines := contextOf(p); {
	case lines < 0 || lines > maxContext:
		return call{}, op.BadRequest("context", op.ReasonOutOfRange)
	case p.To != "" && p.From == "":
		return call{}, op.BadRequest("from", op.ReasonMissing)
	case p.To != "" && p.Staged:
		return call{}, op.BadRequest("to", "exclusive")
	case strings.ContainsRune(p.From+p.To, 0):
		return call{}, op.BadRequest("from", "nul")
	}
	args := append([]string{"diff"}, diffArgs(contextOf(p))...)
	if p.Staged {
		args = append(args, "--cached")
	}
	if !p.Staged && p.From == "" {
		args = append(args, "--ours") // conflicts against our side, not combined
	}
	if p.From != "" {
		args = append(args, "--end-of-options", p.From)
	}
	if p.To != "" {
		args = append(args, p.To)
	}
	return call{args: args}, nil
}

// diffFiles runs a difference and returns its files.
func (s *Space) diffFiles(ctx context.Context, c call, context int) ([]core.GitFileDiff, error) {
	files := []core.GitFileDiff{}
	d := diffReader{context: context, room: maxDiff}
	c.read = func(src io.Reader) error {
		return d.read(src, func(f *fileDiff) error {
			files = append(files, f.GitFileDiff)
			return nil
		})
	}
	err := s.run(ctx, c)
	return files, err
}

// A fileDiff is the difference of one file.
type fileDiff struct {
	core.GitFileDiff
	// head is the raw head, hunks are the raw hunks, where they are kept.
	head  []byte
	hunks [][]byte
	// kept is how much of them there is; over tells that not all is.
	kept int
	over bool
	// unmerged marks the difference of a file with conflicts.
	unmerged bool

	hash hash.Hash
	room int // for text
}

// A diffReader reads the raw records and the patch of one git diff.
type diffReader struct {
	context int
	room    int
	// keep keeps the raw patch.
	keep bool

	in   *bufio.Reader
	line []byte // the current line with its end
	end  bool   // no line is left
	long bool   // the current line lost its middle
}

// read hands over the files in order.
func (d *diffReader) read(src io.Reader, yield func(*fileDiff) error) error {
	d.in = bufio.NewReaderSize(src, 64<<10)
	files, err := d.records()
	if err != nil || len(files) == 0 {
		return err
	}
	d.next()
	for _, f := range files {
		parts := 1
		switch f.Status {
		case "T":
			parts = 2 // another type is told as a removal and an addition
		case "U":
			parts = 0
		}
		for range parts {
			d.section(f)
		}
		if f.unmerged {
			f.Status = "U"
		}
		f.DiffHash = fmt.Sprintf("%d-%s", d.context, hex.EncodeToString(f.hash.Sum(nil)))
		if err := yield(f); err != nil {
			return err
		}
	}
	return nil
}

// records reads the raw records, which end with an empty one.
func (d *diffReader) records() ([]*fileDiff, error) {
	var files []*fileDiff
	field := func() (string, error) {
		s, err := d.in.ReadString(0)
		return strings.TrimSuffix(s, "\x00"), err
	}
	for {
		record, err := field()
		if errors.Is(err, io.EOF) || record == "" {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		f := &fileDiff{hash: sha256.New(), room: maxFileDiff}
		f.Hunks = []core.Hunk{}
		f.Status = record[strings.LastIndexByte(record, ' ')+1:][:1]
		path, err := field()
		if err == nil && (f.Status == "R" || f.Status == "C") {
			o := core.NewPath(path)
			f.Orig, f.OrigBytes = o.Path, o.PathBytes
			path, err = field()
		}
		if err != nil {
			return nil, err
		}
		f.PathOut = core.NewPath(path)
		// A merge tells an unmerged file as such and with its difference.
		if n := len(files); n > 0 && files[n-1].Status == "U" && files[n-1].Raw() == path {
			files = files[:n-1]
			f.unmerged = true
		}
		files = append(files, f)
	}
}

// next reads a line. Of a line beyond maxPatch only the start is kept.
func (d *diffReader) next() {
	d.line, d.long = d.line[:0], false
	for {
		part, err := d.in.ReadSlice('\n')
		if len(d.line)+len(part) <= maxPatch {
			d.line = append(d.line, part...)
		} else {
			d.long = true
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		d.end = err != nil && len(d.line) == 0
		return
	}
}

func (d *diffReader) at(prefix string) bool { return bytes.HasPrefix(d.line, []byte(prefix)) }

// take adds the current line to the raw patch and goes on.
func (d *diffReader) take(f *fileDiff, hunk bool) {
	f.hash.Write(d.line)
	if d.keep {
		f.kept += len(d.line)
		f.over = f.over || f.kept > maxPatch || d.long
		switch {
		case f.over:
		case hunk:
			last := len(f.hunks) - 1
			f.hunks[last] = append(f.hunks[last], d.line...)
		default:
			f.head = append(f.head, d.line...)
		}
	}
	d.next()
}

// section reads one part of a patch, from its head to the next one.
func (d *diffReader) section(f *fileDiff) {
	for !d.end && !d.at("diff --git ") {
		d.next() // "* Unmerged path"
	}
	for first := true; !d.end && !d.at("@@ ") && (first || !d.at("diff --git ")) && !d.at("* Unmerged"); first = false {
		if d.at("Binary files ") {
			f.Binary = true
		}
		d.take(f, false)
	}
	for !d.end && d.at("@@ ") {
		if !d.hunk(f) {
			return
		}
	}
}

// hunk reads a hunk, as many lines as it says.
func (d *diffReader) hunk(f *fileDiff) bool {
	h, ok := parseHunk(string(d.line))
	if !ok {
		return false
	}
	if d.keep {
		f.hunks = append(f.hunks, nil)
	}
	d.take(f, true)
	cut := f.Truncated
	for old, new := h.OldLines, h.NewLines; !d.end && (old > 0 || new > 0 || d.at(`\`)); {
		text := strings.TrimSuffix(string(d.line), "\n")
		if text == "" {
			return false
		}
		switch text[0] {
		case ' ':
			old--
			new--
		case '-':
			old--
		case '+':
			new--
		case '\\':
			if n := len(h.Lines); n > 0 && !cut {
				h.Lines[n-1].NoEOL = true
			}
			d.take(f, true)
			continue
		default:
			return false
		}
		cost := len(text) + lineCost
		if f.room -= cost; !cut && f.room >= 0 && d.room >= cost && !d.long {
			d.room -= cost
			h.Lines = append(h.Lines, core.HunkLine{Op: text[:1], Text: strings.ToValidUTF8(text[1:], "\uFFFD")})
		} else {
			cut = true
		}
		d.take(f, true)
	}
	if f.Truncated = cut; !cut {
		f.Hunks = append(f.Hunks, h)
	}
	return true
}

// parseHunk reads "@@ -a,b +c,d @@ header".
func parseHunk(line string) (h core.Hunk, ok bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return h, false
	}
	numbers, header, ok := strings.Cut(rest, " @@")
	old, new, both := strings.Cut(numbers, " +")
	if !ok || !both {
		return h, false
	}
	h.Lines = []core.HunkLine{}
	h.Header = strings.ToValidUTF8(strings.TrimSuffix(strings.TrimPrefix(header, " "), "\n"), "\uFFFD")
	h.OldStart, h.OldLines, ok = span(old)
	if !ok {
		return h, false
	}
	h.NewStart, h.NewLines, ok = span(new)
	return h, ok
}

func span(s string) (start, n int, ok bool) {
	a, b, two := strings.Cut(s, ",")
	start, err := strconv.Atoi(a)
	n = 1
	if err == nil && two {
		n, err = strconv.Atoi(b)
	}
	return start, n, err == nil && n >= 0
}
