package serve

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/url"
	"strings"
)

// Limits of the announcement.
const (
	maxLines     = 128     // lines of stdout that may come until it is whole
	maxLineBytes = 8 << 10 // of a line, the rest is passed over
)

// What the server says.
const (
	sayAddress  = "server listening on "
	sayPassword = "server password "
	sayLegacy   = "opencode server listening on "
)

var (
	errManyLines = errors.New("the agent's first 128 lines don't say where it listens")
	errSilent    = errors.New("the agent ended its output without saying where it listens")
)

// announcement is where a server listens. legacy is the older surface, which
// says no password.
type announcement struct {
	url      string
	password string
	legacy   bool
}

func (a announcement) whole() bool { return a.url != "" && (a.legacy || a.password != "") }

// announced reads the announcement; what follows stays in r.
func announced(r *bufio.Reader) (announcement, error) {
	var a announcement
	for range maxLines {
		line, err := readLine(r)
		a.take(line)
		switch {
		case a.whole():
			return a, nil
		case err != nil:
			return announcement{}, errSilent
		}
	}
	return announcement{}, errManyLines
}

func (a *announcement) take(line string) {
	if text, ok := strings.CutPrefix(line, sayLegacy); ok && a.url == "" {
		a.url, a.legacy = strings.TrimSpace(text), true
	}
	if text, ok := strings.CutPrefix(line, sayAddress); ok && a.url == "" {
		a.url = strings.TrimSpace(text)
	}
	if text, ok := strings.CutPrefix(line, sayPassword); ok && a.password == "" {
		a.password = strings.TrimSpace(text)
	}
}

// readLine returns the start of the next line, without blanks around it.
func readLine(r *bufio.Reader) (string, error) {
	part, err := r.ReadSlice('\n')
	line := string(bytes.TrimSpace(part))
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, err
}

// newLineReader bounds what readLine keeps of a line.
func newLineReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, maxLineBytes) }

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
