// Exec measures a program's output through one run of the core. See
// ../README.md.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"dragoman/bench/internal/child"
)

func main() {
	mb := flag.Int64("mb", 1000, "output of the program, in MB")
	n := flag.Int("n", 3, "repetitions, of which the median counts")
	flag.Parse()
	if err := measure(*mb*1_000_000, *n); err != nil {
		fmt.Fprintln(os.Stderr, "exec:", err)
		os.Exit(1)
	}
}

func measure(size int64, n int) error {
	dir, err := os.MkdirTemp("", "bench-exec-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, err := build(dir)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "file")
	if err := fill(file, size); err != nil {
		return err
	}
	var piped, stored, core []time.Duration
	var peak int64
	for i := range n {
		p, err := child.Run([]string{"cat", file}, func(_ io.WriteCloser, out io.Reader) error {
			got, err := io.Copy(io.Discard, out)
			return equal(got, size, err)
		})
		if err != nil {
			return err
		}
		log := filepath.Join(dir, "copy")
		s, err := child.Run([]string{"sh", "-c", `cat "$0" | cat >"$1"; echo done`, file, log}, func(_ io.WriteCloser, out io.Reader) error {
			_, err := bufio.NewReader(out).ReadString('\n')
			return err
		})
		if err != nil {
			return err
		}
		os.Remove(log)
		u, err := throughCore(ours, dir, file, size)
		if err != nil {
			return err
		}
		fmt.Printf("%d: cat to a pipe %v (CPU %v), cat through a pipe to a file %v (CPU %v), ours %v (CPU %v), peak %d MiB\n",
			i+1, p.Wall, p.CPU, s.Wall, s.CPU, u.Wall, u.CPU, u.RSS>>20)
		piped, stored, core = append(piped, p.Wall), append(stored, s.Wall), append(core, u.Wall)
		peak = max(peak, u.RSS)
	}
	us := child.Median(core).Seconds()
	fmt.Printf("%.2f x cat to a pipe; %.2f x cat through a pipe to a file (target 0.4); peak %d MiB\n",
		child.Median(piped).Seconds()/us, child.Median(stored).Seconds()/us, peak>>20)
	return nil
}

// build makes the program that is measured.
func build(dir string) (string, error) {
	ours := filepath.Join(dir, "dragoman")
	cmd := exec.Command("go", "build", "-o", ours, "./cmd/dragoman")
	cmd.Dir = ".." // the module that this one measures; run from bench/
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return ours, nil
}

// throughCore runs cat in a core of its own, with one client that reads all
// events as fast as it can.
func throughCore(ours, dir, file string, size int64) (child.Usage, error) {
	state, err := os.MkdirTemp(dir, "state-")
	if err != nil {
		return child.Usage{}, err
	}
	defer os.RemoveAll(state)
	root := filepath.Join(state, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		return child.Usage{}, err
	}
	argv := []string{ours, "core", "--stdio", "--state", state, "--root", root}
	return child.Run(argv, func(in io.WriteCloser, out io.Reader) error {
		fmt.Fprintf(in, "%s\n", `{"id":1,"op":"session.hello","params":{"events":["run.*"]}}`)
		fmt.Fprintf(in, `{"id":2,"op":"exec.run","params":{"argv":["cat",%q]}}`+"\n", file)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadSlice('\n')
			if err == bufio.ErrBufferFull {
				continue
			}
			if err != nil {
				return err
			}
			if bytes.HasPrefix(line, []byte(`{"event":"run.ended"`)) {
				if !bytes.Contains(line, fmt.Appendf(nil, `"bytes":%d`, size)) {
					return fmt.Errorf("the run ended with %s", line)
				}
				return nil
			}
		}
	})
}

func equal(got, want int64, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("%d bytes of %d", got, want)
	}
	return err
}

// fill writes lines of text.
func fill(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	var block bytes.Buffer
	for i := 0; block.Len() < 1<<20; i++ {
		fmt.Fprintf(&block, "%08d: a line of a build's output, \"quoted\", with a tab\there and an é\n", i)
	}
	for left := size; left > 0; {
		n, err := f.Write(block.Bytes()[:min(left, int64(block.Len()))])
		if err != nil {
			f.Close()
			return err
		}
		left -= int64(n)
	}
	return f.Close()
}
