package app

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	facecore "dragoman/internal/face/core"
	"dragoman/internal/face/web"
)

// webHeaderWait bounds how long a browser may take to send its request.
const webHeaderWait = 10 * time.Second

// A webSite is the core's page while it is served.
type webSite struct {
	// fresh gives a URL that lets one browser in, once.
	fresh  func() string
	server *http.Server
}

// listenWeb opens the page's address: beyond this machine only with TLS.
func listenWeb(f coreFlags) (net.Listener, string, error) {
	if f.tlsCert == "" {
		if err := facecore.CheckLoopback(f.web); err != nil {
			return nil, "", err
		}
	}
	l, err := net.Listen("tcp", f.web)
	if err != nil {
		return nil, "", err
	}
	if f.tlsCert == "" {
		return l, "http://", nil
	}
	cert, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
	if err != nil {
		l.Close()
		return nil, "", err
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}), "https://", nil
}

// newWebSite makes the page of a listener.
func (b *coreBuild) newWebSite(ctx context.Context, l net.Listener, scheme string) (*webSite, error) {
	host := l.Addr().String()
	site, err := web.New(scheme+host, []string{host}, web.Accept(ctx, b.server))
	if err != nil {
		return nil, err
	}
	return &webSite{
		fresh:  site.URL,
		server: &http.Server{Handler: site, ReadHeaderTimeout: webHeaderWait},
	}, nil
}

// serve serves until ctx ends.
func (w *webSite) serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { w.server.Close() })
	defer stop()
	if err := w.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
