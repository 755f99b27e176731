package app

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	facecore "dragoman/internal/face/core"
)

// webURLWait bounds one exchange on the web socket.
const webURLWait = 5 * time.Second

// maxURLBytes bounds what is read as a URL.
const maxURLBytes = 4096

// webSocketOf is the path beside a core's socket at which it gives fresh URLs
// of its page. It isn't the core's own socket, since a URL lets a browser in
// and so is nothing for a client that may only read.
func webSocketOf(socket string) string { return strings.TrimSuffix(socket, ".sock") + ".web" }

// A urlGiver writes a fresh URL to whoever connects and is no descendant.
type urlGiver struct {
	listener net.Listener
	who      func(net.Conn) (facecore.Peer, error)
	url      func() string
}

// listenURLs opens the web socket; the core's claim is held, so what is there
// is a dead core's.
func listenURLs(socket string, who func(net.Conn) (facecore.Peer, error), url func() string) (*urlGiver, error) {
	path := webSocketOf(socket)
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return &urlGiver{l, who, url}, nil
}

// serve answers until ctx ends.
func (g *urlGiver) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { g.listener.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := g.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		wg.Go(func() { g.give(conn) })
	}
}

func (g *urlGiver) give(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(webURLWait))
	if peer, err := g.who(conn); err == nil && !peer.Access.Descendant {
		_, _ = io.WriteString(conn, g.url()+"\n")
	}
}

// printWebURL asks the running core for a fresh URL (spec/cli.md "core").
func printWebURL(ctx context.Context, e *Env, f coreFlags) error {
	which := whichCore{socket: f.socket}
	if len(f.roots) > 0 {
		which.root = f.roots[0]
	}
	sockets, err := which.sockets(e.runtimeDir())
	if err != nil {
		return &ExitError{ExitFailed, err}
	}
	d := net.Dialer{Timeout: webURLWait}
	for _, socket := range sockets {
		conn, err := d.DialContext(ctx, "unix", webSocketOf(socket))
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(webURLWait))
		url, err := io.ReadAll(io.LimitReader(conn, maxURLBytes))
		conn.Close()
		if err != nil || len(url) == 0 {
			return &ExitError{ExitRefused, errors.New("the core gives no URL to a process that it started")}
		}
		_, err = e.Out.Write(url)
		return err
	}
	return &ExitError{ExitFailed, errors.New("no core serves a page for this folder; start one with `dragoman core --web 127.0.0.1:0`")}
}
