package opencode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/ndjson"
)

// Limits of replies in bytes.
const (
	maxReply  = 64 << 20
	maxDetail = 500 // of an error reply that is quoted
)

// A client speaks to one server about one folder.
type client struct {
	base, dir      string
	user, password string
	http           *http.Client
}

func newClient(base, dir, user, password string) *client {
	return &client{
		base: strings.TrimRight(base, "/"), dir: dir, user: user, password: password,
		http: &http.Client{
			// Neither a proxy nor a redirect leads off this machine.
			Transport:     &http.Transport{},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// checkLoopback allows http on this machine only.
func checkLoopback(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.User != nil {
		return errors.New("the announced address is no plain http URL")
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return nil
	}
	return errors.New("the announced address isn't on this machine")
}

// A statusError is a reply that isn't 2xx.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP status %d: %s", e.status, e.text) }

// request makes a request; every one names the folder.
func (c *client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var reader io.Reader
	if body != nil {
		b, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path+"?directory="+url.QueryEscape(c.dir), reader)
	if err != nil {
		return nil, err
	}
	if c.password != "" {
		r.SetBasicAuth(c.user, c.password)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// call returns the reply, which is JSON or nil. Its error is a [*statusError]
// or one of the connection's.
func (c *client) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, bare(err)
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case err != nil:
		return nil, bare(err)
	case len(reply) > maxReply:
		return nil, fmt.Errorf("a reply of more than %d bytes", maxReply)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, &statusError{res.StatusCode, c.clip(reply)}
	case len(bytes.TrimSpace(reply)) == 0:
		return nil, nil
	}
	fixed, _, err := ndjson.Repair(nil, reply)
	if err != nil {
		return nil, fmt.Errorf("the reply to %s can't be read", path)
	}
	return fixed, nil
}

// stream subscribes to the events.
func (c *client) stream(ctx context.Context) (io.ReadCloser, error) {
	r, err := c.request(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, bare(err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, &statusError{res.StatusCode, "no stream of events"}
	}
	return res.Body, nil
}

// clip is the start of an error reply, without the password.
func (c *client) clip(reply []byte) string {
	text := strings.ToValidUTF8(string(reply[:min(len(reply), maxDetail)]), "\uFFFD")
	if c.password != "" {
		text = strings.ReplaceAll(text, c.password, "[redacted]")
	}
	return text
}

// bare is an error without the URL before it.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
