package app

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"dragoman/client"
	"dragoman/internal/config"
	facecore "dragoman/internal/face/core"
	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/locate"
	"dragoman/wire/op"
)

// coreFlags are the flags of `core` (spec/cli.md).
type coreFlags struct {
	stdio, detach, webURL              bool
	socket, tcp, tokenFile, state, log string
	tlsCert, tlsKey, web               string
	roots                              []string
}

func newCore(e *Env) *cobra.Command {
	var f coreFlags
	c := &cobra.Command{
		Use:   "core",
		Short: "be the core: documents, files, git, processes and agents for any number of clients",
		Long: `Be the core of a folder. Clients attach to its unix socket and drive it, one JSON
message a line. One line on stdout says where it listens; a second core of the
same folder reports the first one and exits 0.

Clients of the same user may do everything; what the core itself started may
only read. That stops accidents, it is no sandbox.`,
		Example: `  dragoman core --detach
  dragoman call session.ping`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.webURL {
				return printWebURL(cmd.Context(), e, f)
			}
			return runCore(cmd.Context(), e, f)
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.stdio, "stdio", false, "serve one client on stdin and stdout, and end with it")
	flags.BoolVar(&f.detach, "detach", false, "go on in the background")
	flags.StringVar(&f.socket, "socket", "", "listen at this path")
	flags.StringVar(&f.tcp, "tcp", "", "listen at this address too; needs --token-file")
	flags.StringVar(&f.tokenFile, "token-file", "", "lines `ROLE TOKEN`; the roles are observe and control")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "certificate for --tcp")
	flags.StringVar(&f.tlsKey, "tls-key", "", "key of the certificate")
	flags.StringVar(&f.web, "web", "", "serve a page at this address too; the report has its URL, which works once")
	flags.BoolVar(&f.webURL, "web-url", false, "print a fresh URL of the running core's page, and end")
	flags.StringArrayVar(&f.roots, "root", nil, "a folder to work in, this one by default; repeatable")
	flags.StringVar(&f.state, "state", "", "keep state in this folder")
	flags.StringVar(&f.log, "log", "", "append a log to this file")
	c.MarkFlagsMutuallyExclusive("stdio", "detach")
	c.MarkFlagsMutuallyExclusive("stdio", "socket")
	c.MarkFlagsMutuallyExclusive("stdio", "tcp")
	c.MarkFlagsMutuallyExclusive("stdio", "web")
	for _, other := range []string{"stdio", "detach", "tcp", "web"} {
		c.MarkFlagsMutuallyExclusive("web-url", other)
	}
	c.MarkFlagsRequiredTogether("tcp", "token-file")
	c.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	return c
}

// A coreReport is the line that `core` prints.
type coreReport struct {
	Socket   string `json:"socket"`
	PID      int    `json:"pid"`
	Root     string `json:"root"`
	TCP      string `json:"tcp,omitzero"`
	Web      string `json:"web,omitzero"`
	Existing bool   `json:"existing"`
}

// runtimeDir is where sockets are.
func (e *Env) runtimeDir() locate.Dir {
	return locate.RuntimeDir(e.Getenv("XDG_RUNTIME_DIR"), os.Getuid())
}

// coreShutdownLimit bounds a core's end, after draining.
const coreShutdownLimit = 15 * time.Second

func runCore(ctx context.Context, e *Env, f coreFlags) error {
	roots, err := coreRoots(e, f.roots)
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	if f.detach {
		return detachCore(e)
	}
	log, closeLog, err := openLog(f.log)
	if err != nil {
		return &ExitError{ExitFailed, err}
	}
	defer closeLog()
	if f.state == "" {
		f.state = e.stateDir()
	}
	var claim *facecore.Claim
	if !f.stdio {
		claim, err = facecore.ClaimRoot(e.runtimeDir(), roots[0], f.socket)
		var existing *facecore.ExistingError
		if errors.As(err, &existing) {
			return reportExisting(ctx, e, existing.Socket, roots[0])
		}
		if err != nil {
			return &ExitError{ExitFailed, err}
		}
		defer claim.Close()
	}
	ctx, stop := proc.InterruptContext(ctx)
	defer stop()
	b, err := buildCore(ctx, e, roots, f.state, log)
	if err != nil {
		return &ExitError{ExitFailed, err}
	}
	if err := errors.Join(b.serve(e, f, claim), b.close()); err != nil {
		return &ExitError{ExitFailed, err}
	}
	return nil
}

// realRoots makes the roots absolute and real; this folder without any.
func realRoots(given []string) ([]string, error) {
	if len(given) == 0 {
		given = []string{"."}
	}
	var roots []string
	for _, g := range given {
		real, _, err := locate.Name(g)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s is no folder", g)
		}
		if !slices.Contains(roots, real) {
			roots = append(roots, real)
		}
	}
	return roots, nil
}

// coreRoots are the roots of --root; without it this folder, and those of the
// configuration, of which a relative one starts here.
func coreRoots(e *Env, given []string) ([]string, error) {
	roots, err := realRoots(given)
	if err != nil {
		return nil, err
	}
	c, err := e.loadConfig(roots[0])
	if err != nil || len(given) > 0 {
		return roots, err
	}
	for _, more := range c.List(config.Roots) {
		if !filepath.IsAbs(more) {
			more = filepath.Join(roots[0], more)
		}
		given = append(given, more)
	}
	return realRoots(append(roots, given...))
}

// reportExisting prints where the core of that root is.
func reportExisting(ctx context.Context, e *Env, socket, root string) error {
	c, err := client.New(ctx, client.Unix(socket), client.Options{Once: true})
	if err != nil {
		return &ExitError{ExitFailed, fmt.Errorf("the core at %s doesn't answer: %w", socket, err)}
	}
	defer c.Close()
	return e.printLine(coreReport{Socket: socket, PID: c.Hello().PID, Root: root, Existing: true})
}

// printLine prints a value as one line of JSON.
func (e *Env) printLine(v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		_, err = e.Out.Write(append(raw, '\n'))
	}
	return err
}

// detachCore starts the same command line without --detach in a session of
// its own, and hands its one line on.
func detachCore(e *Env) error {
	args := slices.DeleteFunc(slices.Clone(e.Args), func(a string) bool {
		return a == "--detach" || a == "--detach=true"
	})
	out, err := proc.StartDetached(e.executable(), args, e.Environ)
	if err != nil {
		return &ExitError{ExitFailed, err}
	}
	defer out.Close()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return &ExitError{ExitFailed, errors.New("the core ended before it listened; start it without --detach to see why")}
	}
	_, err = e.Out.Write(line)
	return err
}

// serve serves clients until the core is to end.
func (b *coreBuild) serve(e *Env, f coreFlags, claim *facecore.Claim) error {
	if claim == nil {
		return b.serveStdio(e)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer b.stop(nil)
	report := coreReport{Socket: claim.Socket, PID: os.Getpid(), Root: claim.Root}
	ctx, cancel := context.WithCancelCause(b.ctx)
	defer cancel(nil)
	serve := func(l net.Listener, who func(net.Conn) (facecore.Peer, error)) {
		wg.Go(func() {
			if err := b.server.Serve(ctx, l, who); err != nil {
				cancel(err)
			}
		})
	}
	own := os.Getpid()
	who := facecore.LocalPeer(func(pid int) bool { return proc.IsDescendant(pid, own) })
	if f.tcp != "" {
		l, byToken, err := listenTCP(f)
		if err != nil {
			return err
		}
		report.TCP = l.Addr().String()
		serve(l, byToken)
	}
	if f.web != "" {
		l, scheme, err := listenWeb(f)
		if err != nil {
			return err
		}
		site, err := b.newWebSite(ctx, l, scheme)
		if err != nil {
			l.Close()
			return err
		}
		urls, err := listenURLs(claim.Socket, who, site.fresh)
		if err != nil {
			l.Close()
			return err
		}
		report.Web = site.fresh()
		for _, part := range []func() error{
			func() error { return site.serve(ctx, l) },
			func() error { return urls.serve(ctx) },
		} {
			wg.Go(func() {
				if err := part(); err != nil {
					cancel(err)
				}
			})
		}
	}
	serve(claim.Listener, who)
	if err := e.printLine(report); err != nil {
		return err
	}
	<-ctx.Done()
	b.settle()
	if b.ctx.Err() == nil {
		return context.Cause(ctx)
	}
	return nil
}

// listenTCP opens the listener for clients with tokens.
func listenTCP(f coreFlags) (net.Listener, func(net.Conn) (facecore.Peer, error), error) {
	file, err := os.Open(f.tokenFile)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	tokens, err := facecore.ParseTokens(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.tokenFile, err)
	}
	if f.tlsCert == "" {
		if err := facecore.CheckLoopback(f.tcp); err != nil {
			return nil, nil, err
		}
	}
	l, err := net.Listen("tcp", f.tcp)
	if err != nil || f.tlsCert == "" {
		return l, facecore.TokenPeer(tokens), err
	}
	cert, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}),
		facecore.TokenPeer(tokens), nil
}

// stdioGrace is how long runs may take to end by themselves once the client
// of a private core has asked everything.
const stdioGrace = time.Second

// endRuns lets the runs of a private core end, then ends them; the client
// still hears of their ends.
func (b *coreBuild) endRuns() {
	ctx, cancel := context.WithTimeout(b.ctx, stdioGrace)
	defer cancel()
	_ = b.runs.WaitIdle(ctx)
	b.server.Closing("shutdown", time.Now().Add(coreShutdownLimit))
	limit, stop := context.WithTimeout(context.Background(), coreShutdownLimit)
	defer stop()
	if err := b.runs.Close(limit); err != nil {
		b.log.Error("runs at the end of input", "err", err)
	}
}

// serveStdio serves the one client of a private core.
func (b *coreBuild) serveStdio(e *Env) error {
	in := newStoppableInput(e.In)
	conn := facecore.StdioConn(e.Out, in.stop)
	done := make(chan error, 1)
	go func() {
		done <- b.server.ServeConn(b.ctx, in, conn, facecore.Peer{
			Transport: core.TransportStdio, Access: op.Access{Role: op.Control}, AtEOF: b.endRuns,
		})
	}()
	select {
	case err := <-done:
		b.stop(errors.New("end of input"))
		b.settle()
		return err
	case <-b.ctx.Done():
		b.settle()
		return <-done
	}
}
