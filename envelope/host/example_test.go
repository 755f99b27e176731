package host_test

import (
	"context"
	"fmt"
	"time"

	"dragoman/envelope/agent"
	"dragoman/envelope/host"
)

// A host and an agent in one program. Over a child process the first argument
// is host.Child(host.Command{Argv: …, Dir: …}), over a socket host.Dial.
func Example() {
	greeter := agent.New(agent.Config{Implementation: "greeter 1.0"})
	greeter.Handle("greet", func(_ context.Context, r *agent.Request) ([]byte, error) {
		if err := r.Event("thinking", []byte(`{"about":"names"}`)); err != nil {
			return nil, err
		}
		return []byte(`{"text":"hello"}`), nil
	})

	ctx := context.Background()
	h, err := host.Start(ctx, host.Pipe(greeter.Serve), host.Config{Grants: []string{"greet"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	outcome, err := h.Request(ctx, "greet", []byte(`{"name":"Ada"}`), host.RequestOptions{
		Timeout: time.Minute,
		OnEvent: func(e host.Event) { fmt.Printf("%s %s\n", e.Name, e.Output) },
	})
	fmt.Printf("%s %v\n", outcome.Output, err)

	_, err = h.Request(ctx, "shell.run", nil, host.RequestOptions{})
	fmt.Println(err)
	// Output:
	// thinking {"about":"names"}
	// {"text":"hello"} <nil>
	// UNAUTHORIZED_CAPABILITY: capability "shell.run" is not granted
}
