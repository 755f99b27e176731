package agent_test

import (
	"context"
	"fmt"
	"strings"

	"dragoman/envelope/agent"
)

// An agent in front of two lines of a host. A real one serves os.Stdin and
// os.Stdout.
func Example() {
	a := agent.New(agent.Config{Implementation: "echo 1.0"})
	a.Handle("echo.text", func(_ context.Context, r *agent.Request) ([]byte, error) {
		return r.Input, nil
	})
	in := strings.NewReader(`{"protocolVersion":"1.0","kind":"hello","messageId":"h1","sentAt":"2026-12-01T00:00:00Z","capabilities":["echo.text"]}
{"protocolVersion":"1.0","kind":"request","messageId":"h2","sentAt":"2026-12-01T00:00:01Z","requestId":"r1","operation":"echo.text","input":{"text":"hi"}}
`)
	var out strings.Builder
	err := a.Serve(context.Background(), in, &out)
	fmt.Println(strings.Count(out.String(), "\n"), strings.Contains(out.String(), `"event":"completed","output":{"text":"hi"}`), err)
	// Output: 2 true <nil>
}
