package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dragoman/internal/lane"
)

// maxOutputBytes bounds what a short question to a program may answer.
const maxOutputBytes = 1 << 20

// output runs a short command to its end and returns its standard output,
// or its standard error's tail when that is all it said.
func output(ctx context.Context, s lane.Starter, c lane.Command) (string, error) {
	p, err := s.Start(ctx, c)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { p.Kill(context.WithoutCancel(ctx)) })
	defer stop()
	b, readErr := io.ReadAll(io.LimitReader(p.Stdout(), maxOutputBytes))
	<-p.Exited()
	err = errors.Join(readErr, p.End(context.WithoutCancel(ctx)))
	switch status := p.Status(); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", err
	case status.Code != 0:
		return "", fmt.Errorf("%s: exit code %d %s", c.Program, status.Code, status.Signal)
	}
	if len(b) == 0 {
		return p.StderrTail(), nil
	}
	return string(b), nil
}
