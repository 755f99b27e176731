// Rpc measures what a request costs a server between two pipes, in one run:
// our peer, a raw echo, and creachadair/jrpc2. See ../README.md.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"dragoman/bench/internal/child"
)

func main() {
	as := flag.String("as", "", "run as this server instead of measuring")
	reps := flag.Int("n", 5, "repetitions, of which the median counts")
	requests := flag.Int("requests", 200_000, "requests a run; with one in flight a fifth of them")
	flag.BoolVar(&batched, "batched", false, "write the requests that follow a batch of answers at once, not one by one as hosts do")
	flag.Parse()
	if serve, ok := servers[*as]; ok {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := measure(*reps, *requests); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// batched: the client writes as many requests at once as it read answers.
var batched bool

var names = []string{"echo", "lines", "ours", "ours-go", "jrpc2"}

type result struct{ cpu, rate []float64 }

func measure(reps, requests int) error {
	for _, inFlight := range []int{1, 100} {
		n := requests
		if inFlight == 1 {
			n /= 5
		}
		results := map[string]*result{}
		for range reps {
			for _, name := range names {
				u, err := child.Run(child.Self(name), func(in io.WriteCloser, out io.Reader) error {
					return drive(in, out, n, inFlight)
				})
				if err != nil {
					return err
				}
				if results[name] == nil {
					results[name] = &result{}
				}
				r := results[name]
				r.cpu = append(r.cpu, float64(u.CPU.Nanoseconds())/float64(n))
				r.rate = append(r.rate, float64(n)/u.Wall.Seconds())
			}
		}
		report(inFlight, results)
	}
	return nil
}

// drive keeps inFlight requests with ids of their own under way: each batch of
// answers is followed by as many requests.
func drive(in io.Writer, out io.Reader, n, inFlight int) error {
	var requests [][]byte
	for i := range 2 * inFlight {
		requests = append(requests, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"sessionId":"s-1"}}`+"\n", i+1))
	}
	sent, answered, buf, batch := 0, 0, make([]byte, 1<<20), []byte(nil)
	send := func(k int) error {
		batch = batch[:0]
		for ; k > 0 && sent < n; k-- {
			batch = append(batch, requests[sent%len(requests)]...)
			if sent++; batched && k > 1 {
				continue
			}
			if _, err := in.Write(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
		return nil
	}
	if err := send(inFlight); err != nil {
		return err
	}
	deadline := time.Now().Add(time.Minute)
	for answered < n {
		k, err := out.Read(buf)
		if err != nil {
			return err
		}
		lines := bytes.Count(buf[:k], []byte{'\n'})
		answered += lines
		if lines > 0 {
			if err := send(lines); err != nil {
				return err
			}
		}
		if time.Now().After(deadline) {
			return errors.New("time is up")
		}
	}
	return nil
}

func report(inFlight int, results map[string]*result) {
	echo, jrpc2 := results["echo"], results["jrpc2"]
	for _, name := range names {
		r := results[name]
		cpu, rate := child.Median(r.cpu), child.Median(r.rate)
		fmt.Printf("rpc %3d in flight  %-8s %7.0f ns CPU/request  %8.0f requests/s  CPU %.2f x echo, %.2f x jrpc2  rate %.2f x echo, %.2f x jrpc2\n",
			inFlight, name, cpu, rate, cpu/child.Median(echo.cpu), cpu/child.Median(jrpc2.cpu), rate/child.Median(echo.rate), rate/child.Median(jrpc2.rate))
	}
}
