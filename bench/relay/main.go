// Relay measures line relays between two pipes, in one run: ours (line in, all
// checks, line out), cat, and a plain encoding/json relay. See ../README.md.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"dragoman/bench/internal/child"
)

func main() {
	as := flag.String("as", "", "run as this relay instead of measuring")
	reps := flag.Int("n", 5, "repetitions, of which the median counts")
	megabytes := flag.Int("mb", 512, "megabytes to send a run; encoding/json gets a part of that")
	flag.IntVar(&batch, "batch", 0, "bytes that the sender writes at once; 0: a line, as agents do")
	flag.Parse()
	if relay, ok := relays[*as]; ok {
		if err := relay(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := measure(*reps, *megabytes<<20); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// line is a valid message of size bytes with its LF, much like a chunk event.
func line(size int) []byte {
	const head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`
	const tail = `"}}}}` + "\n"
	const text = `Agents write prose in lines of about this length, and code in shorter ones.\n` +
		`Now and then there is a "name" in quotes in it, and a few lines further on\n` +
		`there may be a dash – like this one – or what other languages write: été.\n`
	prose := strings.ReplaceAll(text, `"`, `\"`)
	room := size - len(head) - len(tail)
	n := room / len(prose)
	return []byte(head + strings.Repeat(prose, n) + strings.Repeat("x", room-n*len(prose)) + tail)
}

type result struct {
	speed []float64 // bytes a second
	cpu   []float64 // nanoseconds a line
	rss   []int64
}

func measure(reps, total int) error {
	for _, size := range []int{200, 2 << 10, 64 << 10, 8 << 20} {
		results := map[string]*result{}
		for range reps {
			for _, name := range []string{"cat", "ours", "encoding/json"} {
				n := total / size
				if name == "encoding/json" {
					n /= 16
				}
				if size < 1<<10 {
					n /= 4
				}
				if err := run(name, line(size), max(n, 4), results); err != nil {
					return err
				}
			}
		}
		report(size, results)
	}
	for _, size := range []int{200, 2 << 10, 64 << 10} {
		n, err := allocations(line(size))
		if err != nil {
			return err
		}
		fmt.Printf("relay %7d B  ours: %.3f allocations a line\n", size, n)
	}
	return nil
}

// allocations relays a line many times in this process and returns how often
// memory was allocated for each.
func allocations(one []byte) (float64, error) {
	const warm, lines = 2000, 20000
	count := func(n int) (uint64, error) {
		var before, after runtime.MemStats
		block := bytes.Repeat(one, 100)
		var parts []io.Reader
		for range n / 100 {
			parts = append(parts, bytes.NewReader(block))
		}
		in := io.MultiReader(parts...)
		runtime.ReadMemStats(&before)
		err := ours(in, io.Discard)
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs, err
	}
	if _, err := count(warm); err != nil {
		return 0, err
	}
	n, err := count(lines)
	return float64(n) / lines, err
}

// batch is how many bytes the sender writes at once; one line if 0.
var batch int

// run relays n copies of one line and checks that they all come back.
func run(name string, one []byte, n int, results map[string]*result) error {
	argv := child.Self(name)
	if name == "cat" {
		argv = []string{"cat"}
	}
	block := bytes.Repeat(one, max(1, batch/len(one)))
	total := int64(n) * int64(len(one))
	u, err := child.Run(argv, func(in io.WriteCloser, out io.Reader) error {
		sent := make(chan error, 1)
		go func() {
			for left := total; left > 0; {
				k, err := in.Write(block[:min(left, int64(len(block)))])
				if left -= int64(k); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		got, buf, err := int64(0), make([]byte, 1<<20), error(nil)
		for got < total && err == nil {
			var k int
			k, err = out.Read(buf)
			got += int64(k)
		}
		if err != nil {
			err = fmt.Errorf("%d of %d bytes came back: %w", got, total, err)
		}
		if sendErr := <-sent; err == nil {
			err = sendErr
		}
		return err
	})
	if err != nil {
		return err
	}
	r := results[name]
	if r == nil {
		r = &result{}
		results[name] = r
	}
	r.speed = append(r.speed, float64(total)/u.Wall.Seconds())
	r.cpu = append(r.cpu, float64(u.CPU.Nanoseconds())/float64(n))
	r.rss = append(r.rss, u.RSS)
	return nil
}

func report(size int, results map[string]*result) {
	cat, ours := child.Median(results["cat"].speed), child.Median(results["ours"].speed)
	for _, name := range []string{"cat", "ours", "encoding/json"} {
		r := results[name]
		speed := child.Median(r.speed)
		fmt.Printf("relay %7d B  %-13s %8.1f MB/s  %9.0f ns CPU/line  %5.1f MiB peak  %.2f x cat\n",
			size, name, speed/1e6, child.Median(r.cpu), float64(child.Median(r.rss))/(1<<20), speed/cat)
	}
	fmt.Printf("relay %7d B  ours: %.2f x cat, %.1f x encoding/json, peak %.2f x the line\n\n",
		size, ours/cat, ours/child.Median(results["encoding/json"].speed), float64(child.Median(results["ours"].rss))/float64(size))
}
