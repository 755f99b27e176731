package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"dragoman/client"
	"dragoman/wire/locate"
)

// whichCore are the flags of verbs that attach to a running core.
type whichCore struct{ socket, root string }

func (w *whichCore) add(c *cobra.Command) {
	c.Flags().StringVar(&w.socket, "socket", "", "the core that listens at this path")
	c.Flags().StringVar(&w.root, "root", "", "the core of this folder")
	c.MarkFlagsMutuallyExclusive("socket", "root")
}

// attachLimit bounds the first connection to a core.
const attachLimit = 10 * time.Second

// attach connects to the core that the flags name; without flags to that of
// this folder or the nearest one above it (core.md §3 "Discovery").
func (w *whichCore) attach(ctx context.Context, e *Env, o client.Options) (*client.Client, error) {
	sockets, err := w.sockets(e.runtimeDir())
	if err != nil {
		return nil, &ExitError{ExitFailed, err}
	}
	ctx, cancel := context.WithTimeout(ctx, attachLimit)
	defer cancel()
	o.Name, o.Version = "dragoman", Version
	for _, socket := range sockets {
		c, dialErr := client.New(ctx, client.Unix(socket), o)
		if dialErr == nil {
			return c, nil
		}
		// A dead core leaves its lock file: the next folder counts.
		err = errors.Join(err, fmt.Errorf("%s: %w", socket, dialErr))
	}
	return nil, &ExitError{ExitFailed, errors.Join(errNoCore, err)}
}

var errNoCore = errors.New("no core listens for this folder; start one with `dragoman core --detach`")

func (w *whichCore) sockets(dir locate.Dir) ([]string, error) {
	switch {
	case w.socket != "":
		return []string{w.socket}, nil
	case w.root != "":
		socket, err := dir.Core(w.root)
		if errors.Is(err, locate.ErrNoCore) {
			return nil, errNoCore
		}
		return []string{socket}, err
	}
	return dir.Above(".")
}
