// Search measures the search of files against ripgrep in one run. See
// ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/bench/internal/child"
	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/file"
	"dragoman/internal/edit/match"
)

// queries are one of each kind.
var queries = []struct {
	kind, query string
	regex       bool
	limit       float64
}{
	{"literal", "context.Context", false, 1.3},
	{"literal, rare", "runtime.morestack", false, 1.3},
	{"holds a literal", `func \([a-z]+ \*?[A-Z][a-z]+\) String`, true, 1.5},
	{"holds a literal, late", `[a-z]+[A-Z][a-z]+\.Lock\(\)`, true, 1.5},
	{"other", `[A-Z][a-z]+[0-9]{3}`, true, 8},
	{"other, alternatives", `(foo|bar|baz)[0-9]+`, true, 8},
	{"other, line start", `^[a-z]+ [A-Z]+$`, true, 8},
}

func main() {
	as := flag.String("as", "", "run as the search instead of measuring")
	root := flag.String("root", filepath.Join(goroot(), "src"), "folder to search")
	reps := flag.Int("n", 7, "repetitions, of which the fastest counts")
	rg := flag.String("rg", "rg", "the ripgrep to measure against")
	flag.Parse()
	err := func() error {
		if *as == "ours" {
			return ours(flag.Arg(0), flag.Arg(1), match.Options{Regex: true})
		}
		if *as == "literal" {
			return ours(flag.Arg(0), flag.Arg(1), match.Options{})
		}
		return measure(*rg, *root, *reps)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// goroot asks the go command, since a program doesn't know where Go lies.
func goroot() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return runtime.GOOS
	}
	return strings.TrimSpace(string(out))
}

func measure(rg, root string, reps int) error {
	for _, q := range queries {
		fixed, variant := "--fixed-strings", "literal"
		if q.regex {
			fixed, variant = "--no-fixed-strings", "ours"
		}
		programs := [2][]string{
			{rg, "-uu", "--no-messages", "--no-filename", "--count-matches", fixed, "-e", q.query, root},
			append(child.Self(variant), q.query, root),
		}
		var times [2][]time.Duration
		var counts [2]int
		for range reps {
			for i, argv := range programs {
				n, d, err := run(argv)
				if err != nil {
					return err
				}
				times[i], counts[i] = append(times[i], d), n
			}
		}
		theirs, mine := slices.Min(times[0]), slices.Min(times[1])
		fmt.Printf("%-24s %.2f x rg (at most %.1f): %v, rg %v; %d matches, rg %d\n", q.kind,
			float64(mine)/float64(theirs), q.limit, mine.Round(time.Millisecond), theirs.Round(time.Millisecond), counts[1], counts[0])
	}
	return nil
}

// run adds up the numbers that a program prints.
func run(argv []string) (int, time.Duration, error) {
	start := time.Now()
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	d := time.Since(start)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && len(exit.Stderr) == 0 {
		err = nil // no match
	}
	total := 0
	for line := range strings.Lines(string(out)) {
		n, convErr := strconv.Atoi(strings.TrimSpace(line))
		err = errors.Join(err, convErr)
		total += n
	}
	return total, d, err
}

func ours(query, root string, o match.Options) error {
	p, err := match.Compile(query, o)
	if err != nil {
		return err
	}
	var total atomic.Int64
	scan := match.Scan{
		Pattern: p,
		Decode:  charset.Wire,
		Report:  func(f match.Found) { total.Add(int64(len(f.Matches))) },
	}
	folders := make(chan match.Folder, 256)
	go func() {
		walk(root, folders)
		close(folders)
	}()
	if _, err := scan.Run(context.Background(), folders); err != nil {
		return err
	}
	fmt.Println(total.Load())
	return nil
}

// batch is how many files go to one goroutine at a time.
const batch = 64

// walk sends every regular file below root, folders in parallel.
func walk(root string, out chan<- match.Folder) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var folder func(string)
	folder = func(path string) {
		f, err := os.Open(path)
		if err != nil {
			return
		}
		list, _ := f.ReadDir(-1)
		var files []string
		for _, e := range list {
			if e.Type().IsRegular() {
				files = append(files, e.Name())
			}
		}
		send(f, path, files, out)
		for _, e := range list {
			if !e.IsDir() {
				continue
			}
			below := path + string(filepath.Separator) + e.Name()
			select {
			case slots <- struct{}{}:
				wg.Go(func() {
					folder(below)
					<-slots
				})
			default:
				folder(below)
			}
		}
	}
	folder(root)
	wg.Wait()
}

// send gives the files of an open folder away, which is closed with the last.
func send(f *os.File, path string, files []string, out chan<- match.Folder) {
	fd := int(f.Fd())
	var users atomic.Int64
	users.Store(int64(len(files)+batch-1)/batch + 1)
	done := func() {
		if users.Add(-1) == 0 {
			_ = f.Close()
		}
	}
	open := func(name string) (io.ReadCloser, error) { return file.SequentialAt(fd, name) }
	for part := range slices.Chunk(files, batch) {
		out <- match.Folder{Path: path, Names: part, Open: open, Close: done}
	}
	done()
}
