package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	face "dragoman/internal/face/core"
	"dragoman/internal/hub"
	"dragoman/internal/run"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a core behind a site.
func serve(t *testing.T) (*httptest.Server, *Site) {
	t.Helper()
	h := hub.New(hub.Options{})
	runs, err := run.Open(run.Options{Events: h})
	if err != nil {
		t.Fatal(err)
	}
	srv := face.New(face.Options{
		Mux: op.NewMux(), Hub: h, Runs: runs, Core: "k1",
		Roots: func() []string { return []string{"/"} },
	})
	site := &Site{}
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { site.ServeHTTP(w, r) }))
	made, err := New(http.URL, []string{strings.TrimPrefix(http.URL, "http://")}, Accept(context.Background(), srv))
	if err != nil {
		t.Fatal(err)
	}
	site = made
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Error(err)
		}
		http.Close()
	})
	return http, site
}

func login(t *testing.T, url, origin, code string) *http.Response {
	t.Helper()
	req, err := http.NewRequest("POST", url+"/login", strings.NewReader(code))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", origin)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return res
}

func TestWayIn(t *testing.T) {
	server, site := serve(t)
	_, code, _ := strings.Cut(site.URL(), "#")
	if r := login(t, server.URL, server.URL, "guess"); r.StatusCode != http.StatusForbidden {
		t.Errorf("a guess: %s", r.Status)
	}
	if r := login(t, server.URL, "http://evil.example", code); r.StatusCode != http.StatusForbidden {
		t.Errorf("from another origin: %s", r.Status)
	}
	in := login(t, server.URL, server.URL, code)
	if in.StatusCode != http.StatusNoContent || len(in.Cookies()) != 1 {
		t.Fatalf("%s %v", in.Status, in.Cookies())
	}
	cookie := in.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge != 12*3600 {
		t.Errorf("cookie %+v", cookie)
	}
	if r := login(t, server.URL, server.URL, code); r.StatusCode != http.StatusForbidden {
		t.Errorf("the code again: %s", r.Status)
	}
	for name, tt := range map[string]struct{ origin, cookie, host string }{
		"no cookie":    {server.URL, "", ""},
		"wrong cookie": {server.URL, "x", ""},
		"no origin":    {"", cookie.Value, ""},
		"other origin": {"http://evil.example", cookie.Value, ""},
		"other host":   {server.URL, cookie.Value, "evil.example"},
	} {
		if ws, err := dial(server.URL, tt.origin, tt.cookie, tt.host); err == nil {
			ws.CloseNow()
			t.Errorf("%s: connected", name)
		}
	}
	ws, err := dial(server.URL, server.URL, cookie.Value, "")
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	ctx := t.Context()
	if err := ws.Write(ctx, websocket.MessageText, []byte("{\"id\":1,\n\"op\":\"session.hello\",\"params\":{\"events\":[]}}")); err != nil {
		t.Fatal(err)
	}
	_, raw, err := ws.Read(ctx)
	if err != nil || !strings.HasPrefix(string(raw), `{"id":1,"ok":true`) || strings.HasSuffix(string(raw), "\n") {
		t.Errorf("%s %v", raw, err)
	}
	if err := ws.Write(ctx, websocket.MessageText, []byte(`{"id":2,"op":"session.clients"}`)); err != nil {
		t.Fatal(err)
	}
	if _, raw, err = ws.Read(ctx); err != nil || !strings.Contains(string(raw), `"transport":"`+string(core.TransportWebSocket)) {
		t.Errorf("%s %v", raw, err)
	}
}

func dial(url, origin, cookie, host string) (*websocket.Conn, error) {
	h := http.Header{}
	if origin != "" {
		h.Set("Origin", origin)
	}
	if cookie != "" {
		h.Set("Cookie", cookieName+"="+cookie)
	}
	ws, res, err := websocket.Dial(context.Background(), strings.Replace(url, "http", "ws", 1)+"/ws", &websocket.DialOptions{HTTPHeader: h, Host: host})
	if err != nil && res != nil && res.Body != nil {
		res.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	return ws, err
}

func TestPage(t *testing.T) {
	server, _ := serve(t)
	for path, want := range map[string]string{"/": "<!doctype html>", "/page.js": "use strict", "/page.css": "font"} {
		res, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, 4096)
		n, _ := res.Body.Read(body)
		res.Body.Close()
		if !strings.Contains(string(body[:n]), want) {
			t.Errorf("%s: %s", path, body[:n])
		}
		if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("policy %q", csp)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
