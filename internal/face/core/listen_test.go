package core

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/wire/core"
	"dragoman/wire/locate"
	"dragoman/wire/op"
)

func TestClaimRoot(t *testing.T) {
	root := t.TempDir()
	dir := locate.Dir(filepath.Join(t.TempDir(), "run"))
	first, err := ClaimRoot(dir, root, "")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(first.Socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v %v", info, err)
	}
	var existing *ExistingError
	if _, err := ClaimRoot(dir, root, filepath.Join(t.TempDir(), "other")); !errors.As(err, &existing) || existing.Socket != first.Socket {
		t.Errorf("second core: %v", err)
	}
	if got, err := dir.Core(root); err != nil || got != first.Socket {
		t.Errorf("found %q, %v", got, err)
	}
	for range 2 {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := dir.Core(root); !errors.Is(err, locate.ErrNoCore) {
		t.Errorf("after the end: %v", err)
	}

	// A dead core leaves a socket: it is replaced.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir.Socket(first.Name), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	again, err := ClaimRoot(dir, root, "")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	// A living core of another root keeps its socket.
	if _, err := ClaimRoot(dir, t.TempDir(), again.Socket); err == nil || errors.As(err, &existing) {
		t.Errorf("took a living socket: %v", err)
	}
	if _, err := ClaimRoot(dir, t.TempDir(), "/"+strings.Repeat("x", 200)); err == nil || !strings.Contains(err.Error(), "201 bytes") {
		t.Errorf("long path: %v", err)
	}
}

func TestServeUnix(t *testing.T) {
	for _, tt := range []struct {
		name       string
		descendant bool
		role       op.Role
		want       string
	}{
		{"a client", false, op.Control, `{"id":2,"ok":true,"result":{"run":"r1"}}`},
		{"a descendant", true, op.Observe, `{"id":2,"ok":false,"error":{"code":"denied","message":"…","data":{"reason":"descendant"}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, bindRuns)
			claim, err := ClaimRoot(locate.Dir(filepath.Join(t.TempDir(), "run")), t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			who := LocalPeer(func(int) bool { return tt.descendant })
			ctx, cancel := context.WithCancel(context.Background())
			w.wg.Go(func() {
				// The test is the core and its client: it isn't its own descendant.
				_ = w.srv.Serve(ctx, claim.Listener, func(c net.Conn) (Peer, error) {
					p, err := who(c)
					p.Access.Descendant = tt.descendant
					return p, err
				})
			})
			t.Cleanup(func() { cancel(); claim.Close() })
			conn, err := net.Dial("unix", claim.Socket)
			if err != nil {
				t.Fatal(err)
			}
			p := newPeer(t, conn)
			if r := p.hello(`{"events":[]}`); r.Role != tt.role {
				t.Errorf("role %s", r.Role)
			}
			p.send(`{"id":2,"op":"exec.run","params":{"argv":["echo"]}}`)
			p.want(tt.want)
		})
	}
}

const goodToken = "0123456789abcdef0123456789abcdef"

func TestTokens(t *testing.T) {
	for _, bad := range []string{"", "root " + goodToken, "control short", "control"} {
		if _, err := ParseTokens(strings.NewReader(bad)); err == nil || strings.Contains(err.Error(), goodToken) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	tokens, err := ParseTokens(strings.NewReader("# ours\n\nobserve " + goodToken + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := tokens.Access(goodToken); !ok || a.Role != op.Observe {
		t.Errorf("%+v %v", a, ok)
	}
	if _, ok := tokens.Access(goodToken[:31] + "0"); ok {
		t.Error("another token is taken")
	}
	hello := `{"id":"h","op":"session.hello","params":{"token":"` + goodToken + `","events":[]}}`
	refused := func(id string) string {
		return `{"id":` + id + `,"ok":false,"error":{"code":"unauthorized","message":"…"}}`
	}
	for _, tt := range []struct{ name, line, want string }{
		{"good", hello, `{"id":"h","ok":true,"result":{…"role":"observe"…}}`},
		{"wrong", strings.Replace(hello, goodToken, strings.Repeat("x", 32), 1), refused(`"h"`)},
		{"another op", `{"id":1,"op":"session.ping"}`, refused("1")},
		{"no JSON", `hello`, refused("null")},
		{"too long", `{"id":1,"op":"session.hello","params":{"token":"` + strings.Repeat("x", 5000) + `"}}`, refused("null")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, bindRuns)
			began := time.Now()
			p := w.dial(Peer{Transport: core.TransportTCP, Authenticate: tokens.Access})
			p.send(tt.line)
			p.want(tt.want)
			if tt.name != "good" {
				if _, err := p.r.ReadByte(); err == nil || time.Since(began) < refusedLinger {
					t.Errorf("closed after %v: %v", time.Since(began), err)
				}
				return
			}
			p.send(`{"id":2,"op":"exec.run","params":{"argv":["echo"]}}`)
			p.want(`{"id":2,"ok":false,"error":{"code":"denied",…}}`)
			p.send(`{"id":3,"op":"session.ping"}`)
			p.want(`{"id":3,"ok":true,"result":{}}`)
		})
	}
}

func TestCheckLoopback(t *testing.T) {
	for addr, good := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:80": true, "localhost:1": true, "127.1.2.3:5": true,
		"0.0.0.0:1": false, ":1": false, "example.org:1": false, "10.0.0.1:1": false, "x": false,
	} {
		if err := CheckLoopback(addr); (err == nil) != good {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
