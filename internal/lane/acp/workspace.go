package acp

import (
	"context"
	"errors"
	"io/fs"

	"dragoman/internal/lane"
	wire "dragoman/wire/acp"
	"dragoman/wire/jsonrpc"
)

// A service answers one client-side method from the workspace.
type service func(ctx context.Context, w lane.Workspace, params wire.Object) (any, error)

// services are those that the core's workspace can serve (lanes.md §3).
var services = map[string]service{
	wire.MethodReadTextFile:    readTextFile,
	wire.MethodWriteTextFile:   writeTextFile,
	wire.MethodTerminalCreate:  createTerminal,
	wire.MethodTerminalOutput:  terminalOutput,
	wire.MethodTerminalWait:    waitTerminal,
	wire.MethodTerminalKill:    killTerminal,
	wire.MethodTerminalRelease: releaseTerminal,
	wire.MethodElicitation:     decline,
}

func (c *conn) serveWorkspace(ctx context.Context, r *jsonrpc.Request, serve service) {
	result, err := serve(ctx, c.l.Workspace, wire.AsObject(r.Params))
	if err != nil {
		c.answered(r, r.Fail(workspaceError(err)))
		return
	}
	c.reply(r, result)
}

// errParams is the refusal of a request that lacks what it needs.
var errParams = errors.New("a required member is missing")

func workspaceError(err error) *jsonrpc.Error {
	code := jsonrpc.CodeInternal
	switch {
	case errors.Is(err, errParams):
		code = jsonrpc.CodeInvalidParams
	case errors.Is(err, fs.ErrNotExist):
		code = wire.CodeResourceNotFound
	}
	return &jsonrpc.Error{Code: code, Message: err.Error()}
}

func readTextFile(ctx context.Context, w lane.Workspace, params wire.Object) (any, error) {
	path, ok := params.Text("path")
	if !ok {
		return nil, errParams
	}
	line, _ := params.Int("line")
	limit, _ := params.Int("limit")
	text, err := w.ReadTextFile(ctx, path, int(line), int(limit))
	return wire.ReadTextFileResult{Content: text}, err
}

func writeTextFile(ctx context.Context, w lane.Workspace, params wire.Object) (any, error) {
	path, ok := params.Text("path")
	content, okContent := params.Text("content")
	if !ok || !okContent {
		return nil, errParams
	}
	return wire.Empty{}, w.WriteTextFile(ctx, path, content)
}

func createTerminal(ctx context.Context, w lane.Workspace, params wire.Object) (any, error) {
	command, ok := params.Text("command")
	if !ok {
		return nil, errParams
	}
	c := lane.TerminalCommand{Command: command, Cwd: params.Str("cwd")}
	args, _ := params.List("args")
	for _, item := range args {
		arg, ok := wire.Text(item)
		if !ok {
			return nil, errParams
		}
		c.Args = append(c.Args, arg)
	}
	env, _ := params.List("env")
	for _, item := range env {
		if c.Env == nil {
			c.Env = make(map[string]string, len(env))
		}
		v := wire.AsObject(item)
		c.Env[v.Str("name")] = v.Str("value")
	}
	c.OutputByteLimit, _ = params.Int("outputByteLimit")
	id, err := w.CreateTerminal(ctx, c)
	return wire.TerminalCreateResult{TerminalID: id}, err
}

func terminalOutput(ctx context.Context, w lane.Workspace, params wire.Object) (any, error) {
	out, err := w.TerminalOutput(ctx, params.Str("terminalId"))
	if err != nil {
		return nil, err
	}
	result := wire.TerminalOutputResult{Output: out.Output, Truncated: out.Truncated}
	if out.Exit != nil {
		exit := terminalExit(*out.Exit)
		result.ExitStatus = &exit
	}
	return result, nil
}

func terminalExit(s lane.ExitStatus) wire.TerminalExit {
	if s.Signal != "" {
		return wire.TerminalExit{Signal: &s.Signal}
	}
	return wire.TerminalExit{ExitCode: &s.Code}
}

func waitTerminal(ctx context.Context, w lane.Workspace, params wire.Object) (any, error) {
	status, err := w.WaitTerminal(ctx, params.Str("terminalId"))
	return terminalExit(status), err
}

func killTerminal(ctx context.Context, w lane.Workspace, params wire.Object) (any, error) {
	return wire.Empty{}, w.KillTerminal(ctx, params.Str("terminalId"))
}

func releaseTerminal(ctx context.Context, w lane.Workspace, params wire.Object) (any, error) {
	return wire.Empty{}, w.ReleaseTerminal(ctx, params.Str("terminalId"))
}

// decline answers a form that nobody fills in.
func decline(context.Context, lane.Workspace, wire.Object) (any, error) {
	return wire.ElicitationResult{Action: "decline"}, nil
}
