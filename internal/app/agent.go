package app

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/spf13/cobra"

	"dragoman/client"
	"dragoman/envelope/agent"
	facecore "dragoman/internal/face/core"
	"dragoman/internal/face/envelope"
	"dragoman/internal/proc"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// agentFlags are the flags of `agent` (spec/cli.md).
type agentFlags struct {
	agent, root string
	grants      []string
}

func newAgent(e *Env) *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use:   "agent",
		Short: "be an agent of the envelope protocol on stdin and stdout",
		Long: `Be an agent of the envelope protocol: the core's operations are capabilities,
and agent.prompt is a conversation with one coding agent. It attaches to the core
that runs for the root, else has sessions of its own.

Without --grant only operations that read are offered, and agent.list, open, send,
cancel and close. Exit code 1 when the host broke the protocol.`,
		Example: `  dragoman request --grant agent.prompt agent.prompt '{"text":"hello"}' -- dragoman agent --agent fixture`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return beAgent(cmd.Context(), e, f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.agent, "agent", "", "the agent of agent.prompt where the host names none (default: the first that is installed)")
	flags.StringArrayVar(&f.grants, "grant", nil, "an operation that is offered although it does more than read (repeatable)")
	flags.StringVar(&f.root, "root", "", "the folder whose core is used, and in which agents work (default: this one)")
	return c
}

func beAgent(ctx context.Context, e *Env, f agentFlags) error {
	var given []string
	if f.root != "" {
		given = []string{f.root}
	}
	roots, err := realRoots(given)
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	ctx, stop := proc.InterruptContext(ctx)
	defer stop()
	face := envelope.New(envelope.Config{Grants: f.grants, Agent: f.agent, Version: Version})
	running, end, err := openCore(ctx, e, roots[0], face)
	if err != nil {
		return &ExitError{ExitFailed, err}
	}
	err = face.Serve(ctx, running, e.In, e.Out)
	err = errors.Join(err, end())
	var broken *agent.ProtocolError
	switch {
	case ctx.Err() != nil && !errors.As(err, &broken):
		return &ExitError{Code: ExitInterrupted}
	case err != nil:
		return &ExitError{ExitFailed, err}
	}
	return nil
}

// openCore attaches to the core that runs for root, or makes a private one.
// end ends what was opened.
func openCore(ctx context.Context, e *Env, root string, face *envelope.Face) (running envelope.Core, end func() error, err error) {
	o := client.Options{Name: "dragoman agent", Version: Version, OnEvent: face.Event, Once: true}
	if socket, err := e.runtimeDir().Core(root); err == nil {
		if c, err := client.New(ctx, client.Unix(socket), o); err == nil {
			return c, c.Close, nil
		}
		// A core that is gone leaves its lock file: go on without it.
	}
	p, err := newPrivateCore(ctx, e, root)
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(ctx, p.dial, o)
	if err != nil {
		return nil, nil, errors.Join(err, p.close())
	}
	return c, func() error { return errors.Join(c.Close(), p.close()) }, nil
}

// A privateCore is a core of one client in this process. It keeps no state:
// that belongs to the core of the root.
type privateCore struct {
	build *coreBuild
	work  sync.WaitGroup
}

func newPrivateCore(ctx context.Context, e *Env, root string) (*privateCore, error) {
	// The core outlives ctx, so that sessions can be closed in order.
	b, err := buildCore(context.WithoutCancel(ctx), e, []string{root}, "", newLog(io.Discard))
	if err != nil {
		return nil, err
	}
	return &privateCore{build: b}, nil
}

// dial connects the one client.
func (p *privateCore) dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	p.work.Go(func() {
		// How the connection ended is the client's to say.
		_ = p.build.server.ServeConn(p.build.ctx, far, facecore.NetConn(far), facecore.Peer{
			Transport: core.TransportStdio, Access: op.Access{Role: op.Control},
		})
	})
	return near, nil
}

func (p *privateCore) close() error {
	err := p.build.close()
	p.work.Wait()
	return err
}
