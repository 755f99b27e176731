package core

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Serve accepts connections until the listener is closed or ctx ends, and
// waits for all of them. who tells who has connected; an error refuses.
func (s *Server) Serve(ctx context.Context, l net.Listener, who func(net.Conn) (Peer, error)) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := who(conn)
		if err != nil {
			s.opts.Log.Warn("connection refused", "err", err)
			conn.Close()
			continue
		}
		wg.Go(func() { _ = s.ServeConn(ctx, conn, NetConn(conn), p) })
	}
}

// LocalPeer says who is at the other end of a unix socket: the same user, or
// nobody; a descendant of this process may only read. isDescendant is asked
// for the peer's pid.
func LocalPeer(isDescendant func(pid int) bool) func(net.Conn) (Peer, error) {
	return func(conn net.Conn) (Peer, error) {
		p := Peer{Transport: core.TransportUnix, Access: op.Access{Role: op.Control}}
		uid, pid, err := credentials(conn)
		if err != nil {
			return p, err
		}
		if uid != os.Getuid() {
			return p, fmt.Errorf("user %d isn't user %d", uid, os.Getuid())
		}
		p.Access.Descendant = pid > 0 && pid != os.Getpid() && isDescendant(pid)
		return p, nil
	}
}

// minToken is the shortest token: 128 bits in base64.
const minToken = 22

// Tokens are the tokens of a file, with their roles.
type Tokens struct {
	hashes [][sha256.Size]byte
	roles  []op.Role
}

// ParseTokens reads lines `ROLE TOKEN`; blank ones and those that begin with
// # are left out. An error never shows a token.
func ParseTokens(r io.Reader) (*Tokens, error) {
	t := &Tokens{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		role, token, _ := strings.Cut(line, " ")
		token = strings.TrimSpace(token)
		if role != string(op.Observe) && role != string(op.Control) {
			return nil, fmt.Errorf("line %d: the role is neither %s nor %s", n, op.Observe, op.Control)
		}
		if len(token) < minToken {
			return nil, fmt.Errorf("line %d: the token has %d characters, fewer than %d", n, len(token), minToken)
		}
		t.hashes = append(t.hashes, sha256.Sum256([]byte(token)))
		t.roles = append(t.roles, op.Role(role))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(t.hashes) == 0 {
		return nil, errors.New("the file holds no token")
	}
	return t, nil
}

// Access returns what a token allows. The time that it takes doesn't depend
// on how much of a token is right.
func (t *Tokens) Access(token string) (op.Access, bool) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.hashes {
		if subtle.ConstantTimeCompare(sum[:], t.hashes[i][:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return op.Access{}, false
	}
	return op.Access{Role: t.roles[found]}, true
}

// TokenPeer says who is at the other end of a TCP connection: whoever shows
// a token first. At most 64 connections wait for theirs.
func TokenPeer(t *Tokens) func(net.Conn) (Peer, error) {
	var waiting atomic.Int64
	return func(net.Conn) (Peer, error) {
		if waiting.Add(1) > maxUnknownPeer {
			waiting.Add(-1)
			return Peer{}, fmt.Errorf("%d connections haven't shown a token", maxUnknownPeer)
		}
		return Peer{
			Transport: core.TransportTCP, Authenticate: t.Access,
			Settled: sync.OnceFunc(func() { waiting.Add(-1) }),
		}, nil
	}
}

// CheckLoopback refuses an address beyond this machine.
func CheckLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is beyond this machine: that needs TLS", addr)
	}
	return nil
}
