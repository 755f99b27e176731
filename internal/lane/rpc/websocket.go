package rpc

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"dragoman/internal/lane"
	"dragoman/wire/agent"

	"github.com/coder/websocket"
)

const stageConnect = "ws/connect"

// maxAnnounce is how much of stdout in bytes may come until the announcement
// has ended.
const maxAnnounce = 64 << 10

// portPlaceholder in argv stands for a free loopback port.
const portPlaceholder = "{port}"

// withPort fills in the port. It is free now; whoever takes it before the
// agent makes the agent fail.
func withPort(args []string) ([]string, error) {
	if !strings.Contains(strings.Join(args, "\n"), portPlaceholder) {
		return args, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, portPlaceholder, port)
	}
	return args, nil
}

// dial waits for the announcement and connects.
func (c *conn) dial(ctx context.Context) (link, error) {
	if c.launch.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.launch.ConnectTimeout, errLate{c.launch.ConnectTimeout})
		defer cancel()
	}
	found := make(chan string, 1)
	go c.drain(found)
	var text string
	select {
	case address, ok := <-found:
		if !ok {
			return nil, agent.Fail(agent.CodeTransportFailed, stageOpen, "no announcement: "+lane.Ending(ctx, c.process))
		}
		text = address
	case <-ctx.Done():
		return nil, agent.Fail(agent.CodeTransportFailed, stageOpen, "no announcement: "+context.Cause(ctx).Error())
	}
	if err := checkAddress(text); err != nil {
		return nil, agent.FailFlags(agent.CodeProtocolFailed, stageConnect, err.Error(), agent.FlagsFinal)
	}
	conn, _, err := websocket.Dial(ctx, text, &websocket.DialOptions{
		// Loopback only: neither a proxy nor a redirect leads elsewhere.
		HTTPClient: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	})
	if err != nil {
		return nil, agent.FailFlags(agent.CodeProtocolFailed, stageConnect, err.Error(), agent.FlagsBroken)
	}
	return newSocket(conn, c.spec.frameBytes), nil
}

// drain looks for the announcement on stdout, closes found if there is none,
// and reads stdout to its end.
func (c *conn) drain(found chan<- string) {
	defer close(c.drained)
	var head []byte
	piece := make([]byte, 4<<10)
	stdout := c.process.Stdout()
	for looking := true; ; {
		n, err := stdout.Read(piece)
		if looking {
			head = append(head, piece[:n]...)
			address, ok := announced(head, *c.spec.announce)
			if ok {
				found <- address
			}
			looking = !ok && err == nil && len(head) < maxAnnounce
			if !looking {
				close(found)
				head = nil
			}
		}
		if err != nil {
			return
		}
	}
}

// announced finds the first whole line that begins with prefix in the first
// 64 KiB, and returns what follows.
func announced(head []byte, prefix string) (address string, ok bool) {
	head = head[:min(len(head), maxAnnounce)]
	for {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !whole {
			return "", false
		}
		if after, ok := strings.CutPrefix(string(line), prefix); ok {
			return strings.TrimSpace(after), true
		}
		head = rest
	}
}

// checkAddress allows ws:// with a port on this machine.
func checkAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("the announced address is no URL")
	case u.Scheme != "ws":
		return errors.New("the announced address isn't ws://")
	case u.Port() == "":
		return errors.New("the announced address has no port")
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return nil
	}
	return errors.New("the announced address isn't on this machine")
}
