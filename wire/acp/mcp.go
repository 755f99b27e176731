package acp

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Why an MCP server isn't one of the protocol's forms.
var (
	errServerNotObject = errors.New("is not an object")
	errServerForm      = errors.New("is neither {name, command, args, env} nor {type: http or sse, name, url, headers}")
)

// ReadMCPServers checks a list of MCP servers and returns them in the
// protocol's forms: {name, command, args, env} for stdio, {type, name, url,
// headers} for http and sse. Other members are kept as they are.
func ReadMCPServers(list [][]byte) ([]jsontext.Value, error) {
	servers := make([]jsontext.Value, 0, len(list))
	for i, item := range list {
		if err := checkServer(AsObject(item)); err != nil {
			return nil, fmt.Errorf("MCP server %d %w", i, err)
		}
		servers = append(servers, jsontext.Value(item))
	}
	return servers, nil
}

func checkServer(o Object) error {
	if o == nil {
		return errServerNotObject
	}
	_, named := o.Text("name")
	if !named {
		return errServerForm
	}
	if kind := o.Str("type"); kind == "http" || kind == "sse" {
		if _, ok := o.Text("url"); ok && pairs(o, "headers") {
			return nil
		}
		return errServerForm
	}
	if _, ok := o.Text("command"); ok && texts(o, "args") && pairs(o, "env") {
		return nil
	}
	return errServerForm
}

// texts reports whether a member is a list of strings.
func texts(o Object, name string) bool {
	list, ok := o.List(name)
	for _, item := range list {
		if _, text := Text(item); !text {
			return false
		}
	}
	return ok
}

// pairs reports whether a member is a list of {name, value}.
func pairs(o Object, name string) bool {
	list, ok := o.List(name)
	for _, item := range list {
		_, named := AsObject(item).Text("name")
		_, valued := AsObject(item).Text("value")
		if !named || !valued {
			return false
		}
	}
	return ok
}
