package web

import (
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Times and sizes of the way in (core.md §3).
const (
	CookieFor  = 12 * time.Hour
	CodeFor    = 10 * time.Minute
	maxCode    = 256
	cookieName = "dragoman"
)

// policy lets the page run its own script and talk to its own server alone.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page
var page embed.FS

// A Site is the page and its WebSocket.
type Site struct {
	origin string
	hosts  []string
	accept func(w http.ResponseWriter, r *http.Request)
	files  http.Handler

	mu      sync.Mutex
	codes   map[[sha256.Size]byte]time.Time // by when
	cookies map[[sha256.Size]byte]time.Time
}

// New makes the site of an origin ("http://127.0.0.1:1234"); hosts are the
// values of the Host header that count. accept serves a WebSocket request
// that was let in.
func New(origin string, hosts []string, accept http.HandlerFunc) (*Site, error) {
	files, err := fs.Sub(page, "page")
	if err != nil {
		return nil, err
	}
	return &Site{
		origin: origin, hosts: hosts, accept: accept, files: http.FileServerFS(files),
		codes: map[[sha256.Size]byte]time.Time{}, cookies: map[[sha256.Size]byte]time.Time{},
	}, nil
}

// URL is the page's with a fresh code, which works once.
func (s *Site) URL() string {
	code := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[sha256.Sum256([]byte(code))] = time.Now().Add(CodeFor)
	return s.origin + "/#" + code
}

// ServeHTTP serves the page, the exchange and the WebSocket.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if !slices.Contains(s.hosts, r.Host) {
		http.Error(w, "another host", http.StatusMisdirectedRequest)
		return
	}
	switch {
	case r.URL.Path == "/login" && r.Method == http.MethodPost:
		s.login(w, r)
	case r.URL.Path == "/ws" && r.Method == http.MethodGet:
		if r.Header.Get("Origin") != s.origin || !s.known(r) {
			http.Error(w, "not signed in", http.StatusForbidden)
			return
		}
		s.accept(w, r)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		s.files.ServeHTTP(w, r)
	default:
		http.Error(w, "no such method", http.StatusMethodNotAllowed)
	}
}

// login exchanges a code for a cookie.
func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	code := make([]byte, maxCode)
	n, _ := r.Body.Read(code)
	if r.Header.Get("Origin") != s.origin || !s.spend(code[:n]) {
		http.Error(w, "the code doesn't work; ask the core for a fresh URL", http.StatusForbidden)
		return
	}
	cookie := rand.Text()
	s.mu.Lock()
	s.cookies[sha256.Sum256([]byte(cookie))] = time.Now().Add(CookieFor)
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: cookie, Path: "/", MaxAge: int(CookieFor.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	w.WriteHeader(http.StatusNoContent)
}

// spend takes a code; the hash hides from its timing how much of a guess is
// right.
func (s *Site) spend(code []byte) bool {
	sum := sha256.Sum256(code)
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.codes[sum]
	delete(s.codes, sum)
	return ok && time.Now().Before(until)
}

// known reports whether the request has a good cookie.
func (s *Site) known(r *http.Request) bool {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return false
	}
	sum := sha256.Sum256([]byte(c.Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.cookies[sum]
	if ok && time.Now().After(until) {
		delete(s.cookies, sum)
		return false
	}
	return ok
}
