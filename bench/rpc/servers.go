package main

import (
	"bufio"
	"context"
	"io"
	"os"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"

	"dragoman/wire/jsonrpc"
	"dragoman/wire/ndjson"
)

// servers are the variants by name.
var servers = map[string]func(*os.File, *os.File) error{
	"echo":    echo,
	"lines":   lines,
	"ours":    func(in, out *os.File) error { return ours(in, out, inline{}) },
	"ours-go": func(in, out *os.File) error { return ours(in, out, spawning{}) },
	"jrpc2":   library,
}

// echo writes back what it reads: the least that a server can do.
func echo(in, out *os.File) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// lines is an echo that looks for the requests, and writes when no more of them
// is in memory.
func lines(in, out *os.File) error {
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

var pong = []byte(`{"protocol":"a4aa.v1","version":"1"}`)

// inline answers in the reading goroutine.
type inline struct{}

func (inline) Notify(context.Context, jsonrpc.Notification)  {}
func (inline) Request(_ context.Context, r *jsonrpc.Request) { _ = r.Reply(pong) }

// spawning answers in a goroutine a request.
type spawning struct{}

func (spawning) Notify(context.Context, jsonrpc.Notification) {}
func (spawning) Request(_ context.Context, r *jsonrpc.Request) {
	r.Go(func(_ context.Context, r *jsonrpc.Request) { _ = r.Reply(pong) })
}

func ours(in, out *os.File, h jsonrpc.Handler) error {
	w := ndjson.NewWriter(out, ndjson.WriterOptions{})
	if err := jsonrpc.NewPeer(in, w, jsonrpc.Options{Handler: h}).Serve(context.Background()); err != nil {
		return err
	}
	return w.Close()
}

// library is the best behaved JSON-RPC library of the trials.
func library(in, out *os.File) error {
	type result struct {
		Protocol string `json:"protocol"`
		Version  string `json:"version"`
	}
	ping := func(context.Context, *jrpc2.Request) (result, error) { return result{"a4aa.v1", "1"}, nil }
	s := jrpc2.NewServer(handler.Map{"ping": handler.New(ping)}, nil).Start(channel.Line(in, out))
	return s.Wait()
}
