// Search measures the search of files against ripgrep in one run. See
// ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	reps := flag.Int("n", 7, "repetitions, of which the median counts")
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
		theirs, mine := child.Median(times[0]), child.Median(times[1])
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
		Open:    file.Sequential,
		Decode:  charset.Wire,
		Report:  func(f match.Found) { total.Add(int64(len(f.Matches))) },
	}
	names := make(chan []string, 256)
	go func() {
		walk(root, names)
		close(names)
	}()
	if _, err := scan.Run(context.Background(), names); err != nil {
		return err
	}
	fmt.Println(total.Load())
	return nil
}

// walk sends every regular file below root, folders in parallel.
func walk(root string, names chan<- []string) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var folder func(string)
	folder = func(dir string) {
		f, err := os.Open(dir)
		if err != nil {
			return
		}
		list, _ := f.ReadDir(-1)
		_ = f.Close()
		var files []string
		for _, e := range list {
			path := dir + string(filepath.Separator) + e.Name()
			switch {
			case e.IsDir():
				select {
				case slots <- struct{}{}:
					wg.Go(func() {
						folder(path)
						<-slots
					})
				default:
					folder(path)
				}
			case e.Type().IsRegular():
				files = append(files, path)
			}
		}
		if len(files) > 0 {
			names <- files
		}
	}
	folder(root)
	wg.Wait()
}
