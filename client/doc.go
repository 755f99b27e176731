// Package client attaches to a core of the core protocol from Go.
//
//	c, err := client.New(ctx, client.Unix(socket), client.Options{
//		Name:    "my-tool",
//		OnEvent: func(e client.Event) { … },
//	})
//	info, err := core.BufferOpen.Call(ctx, c, core.BufferOpenParams{…})
//	run, err := core.ExecRun.Start(ctx, c, core.ExecRunParams{…})
//
// The package lists no operation: each is called through its declaration in
// wire/core, and [Client.Raw] calls one that this program doesn't know.
//
// # Life of the link
//
// A [Client] reconnects when its link dies and asks for the events that it
// missed; calls under way then fail with [ErrDisconnected], since nobody
// knows whether they had an effect, and later ones wait for the new link.
// What can't be replayed is told to Options.OnGap. An idle link is pinged
// after [PingAfter]; one that owes a reply and is silent for [DeadAfter] is
// taken for dead (core.md §3).
//
// # Concurrency
//
// All methods may be called from any goroutine. OnEvent and OnGap are called
// by the reading goroutine, in order; they mustn't call the client and wait.
package client
