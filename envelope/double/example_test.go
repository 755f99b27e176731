package double_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"dragoman/envelope/double"
)

// A double that plays a JSON-RPC agent.
func Example() {
	scenario, err := double.Parse(strings.NewReader(`
# greet, then misbehave
{"expect":{"method":"initialize"},"name":"init"}
{"send":{"id":"${init.id}","result":{"protocolVersion":1}}}
{"raw":"this is no JSON\n"}
{"exit":3}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n")
	status, err := scenario.Play(context.Background(), double.Streams{In: in, Out: os.Stdout, Err: os.Stderr})
	fmt.Println(status, err)
	// Output:
	// {"id":1,"result":{"protocolVersion":1}}
	// this is no JSON
	// 3 <nil>
}
