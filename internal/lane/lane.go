// Package lane is the interface between the session engine and the agent
// dialects: one folder below it a dialect, each a translator and nothing
// else. The engine calls a [Driver]; the driver calls back a [Sink].
//
// # Order of calls
//
// Parse (pure) → Plan.Check (pure) → Plan.Open → Conn.Prompt… → Conn.Close.
// The engine calls Prompt for one turn at a time; CheckTurn, Close and the
// closing of Turn.Cancel may come from other goroutines at any time.
package lane

import (
	"context"
	"io"
	"log/slog"
	"time"

	"dragoman/wire/agent"
)

// A Driver knows one dialect. Drivers are stateless and shared.
type Driver interface {
	// Parse decodes the members of spec that belong to the lane. It does no
	// I/O. Its error is an [*agent.SpecError] (or, where the spec says so, an
	// [*agent.Error]: a malformed MCP server).
	Parse(spec *agent.Spec) (Plan, error)
}

// A Plan is a parsed spec, ready to be checked and opened, any number of
// times.
type Plan interface {
	// CheckEnv holds what concerns the lane in the environment policy (acp's
	// auth_key). SpecError or nil.
	CheckEnv() error
	// Check refuses, in the order of sidecar.md §2 and without I/O, the
	// options, allow-lists, resume and MCP servers that the lane can't serve.
	Check(o agent.Options, resume string) error
	// Open starts the agent and returns when the session is usable. ctx ends
	// the attempt; everything started by a failed Open is gone when it returns.
	Open(ctx context.Context, l Launch) (Conn, error)
}

// A LatePlan is a [Plan] whose Open may start nothing: what is wrong with the
// environment's sources then shows at the first prompt (sidecar.md §2).
type LatePlan interface {
	// StartsLate reports that Open gets Launch.EnvError instead of failing
	// before it, and returns it as the error of the first start.
	StartsLate() bool
}

// A Launch is what Open needs beside the spec.
type Launch struct {
	// Dir is the absolute working folder; it exists.
	Dir string
	// Env is the child's whole environment, NAME=VALUE, resolved by policy.
	Env []string
	// EnvError is why Env couldn't be resolved, for a [LatePlan] only.
	EnvError error
	// Options to apply before Open returns.
	Options agent.Options
	// Resume is the agent's own session id, "" for a new session.
	Resume string
	// ConnectTimeout bounds start to first answer, OpenTimeout the whole open.
	ConnectTimeout, OpenTimeout time.Duration
	// Starter starts processes.
	Starter Starter
	// Sink takes events and questions, from before Open returns.
	Sink Sink
	// Workspace serves files and terminals to the agent; nil on the sidecar.
	Workspace Workspace
	// Log gets what no event says; never secrets, never content.
	Log *slog.Logger
}

// A Conn is one open session with an agent.
type Conn interface {
	// Info is what is known now; it may change (native id, state).
	Info() Info
	// CheckTurn refuses a turn's selectors before it waits in the queue. It
	// doesn't block.
	CheckTurn(o agent.Options) error
	// Prompt runs one turn to its end. All its events were given to the Sink
	// before it returns. ctx ends when the session closes; a cancel closes
	// t.Cancel. A session that only a close can mend answers here with
	// agent_session_recovery_required, by the lane's own rule. Its error is an
	// [*agent.Error].
	Prompt(ctx context.Context, t Turn) (agent.Outcome, error)
	// Close ends the agent and all that it started; it returns when the
	// process tree is gone. Idempotent; an error means that something may be
	// left and Close can be called again.
	Close(ctx context.Context) error
}

// A Canceller is a [Conn] whose cancel has an answer of its own: a dialect
// that declares no cancel, or misses the id that it needs (sidecar.md §7).
type Canceller interface {
	// CancelTurn is called after Turn.Cancel was closed, each time that the
	// host asks again, too. It returns when the agent was told (it may wait
	// for the id that it needs), or nil at once when that turn isn't running
	// or its prompt wasn't sent. Its error is the answer to session/cancel;
	// the turn goes on.
	CancelTurn(ctx context.Context, turn uint64) error
}

// A Configurer is a [Conn] that can change options while it is open
// (agent.setOptions).
type Configurer interface {
	// Configure applies options, and config values by their ACP option id.
	Configure(ctx context.Context, o agent.Options, config map[string][]byte) error
}

// A Forker is a [Conn] whose agent can fork its session.
type Forker interface {
	// Fork returns the native id of the copy.
	Fork(ctx context.Context) (string, error)
}

// A Resizer is a [Conn] with a terminal.
type Resizer interface{ Resize(cols, rows int) error }

// Turn is one prompt.
type Turn struct {
	// Number is the turn's, from 1; it fences cancel, answers, late traffic.
	Number uint64
	Text   string
	// Attachments beyond the text; only what Info says the agent takes.
	Attachments []Attachment
	// Options: model and effort only.
	Options agent.Options
	// Cancel is closed when the turn is to be cancelled. A lane tells the
	// agent first and then cancels the contexts of its open questions.
	Cancel <-chan struct{}
}

// An Attachment is a resource or image beside the prompt's text.
type Attachment struct {
	Type     string // image, file
	URI      string
	MimeType string
	Name     string
	// Text for a text resource; Data otherwise.
	Text string
	Data []byte
}

// Info describes an open session.
type Info struct {
	// NativeID is the agent's own session id, "" until known.
	NativeID string
	// Capabilities as negotiated.
	Capabilities Capabilities
	// AgentName and AgentVersion; both "" when the agent didn't say.
	AgentName, AgentVersion string
	// State is the sessionState object as JSON ({configOptions, modes,
	// models, _meta}); nil where the lane has none (null on the wire).
	State []byte
	// PromptStage is the stage of what the engine refuses in the lane's name,
	// a prompt that waited when the session closed; "" is session/prompt.
	PromptStage string
	// Dead: the agent is gone for good. Prompts still reach the lane, which
	// answers them with its own error.
	Dead bool
	// TextInChunks: the chunks are the text, an outcome's text is empty on
	// the sidecar.
	TextInChunks bool
}

// Capabilities are what this session can really do (sidecar.md §2, issue
// "capabilities are truthful").
type Capabilities struct {
	Streaming, Cancellation, SessionResume, PermissionPrompts bool
	// Beyond the sidecar's five members, for the core and agents listing.
	Model, Mode, Effort, Permission, Usage, Images, Resources, Fork bool
	// Detail is acp's agentCapabilities as sent; nil elsewhere.
	Detail []byte
}

// A Sink takes what a lane tells. Emit is called by one goroutine at a time,
// in the agent's order.
type Sink interface {
	// Emit takes one event. It blocks while the host doesn't read, which
	// holds back the agent; it returns early when ctx ends. ctx must end when
	// the context of Open or Prompt ends or Close is called. An event of a
	// turn that is over is dropped: late traffic is fenced.
	Emit(ctx context.Context, ev *agent.Event)
	// Ask puts a question and waits for the answer; when ctx ends, or nobody
	// can answer, the answer is cancelled. Only offered ids come back.
	Ask(ctx context.Context, q *agent.Question) agent.Answer
	// Changed says that Info changed (native id, state, capabilities).
	Changed()
}

// A Starter starts child processes under supervision (proc.Supervisor).
type Starter interface {
	Start(ctx context.Context, c Command) (Process, error)
}

// Command is a child to start: argv, never a shell.
type Command struct {
	// Program as the spec says; looked up on the PATH of Env, relative paths
	// with a slash from Dir.
	Program string
	// Args without argv[0].
	Args []string
	Dir  string
	Env  []string
	// Stdin: StdinPipe (default) or StdinNull.
	Stdin StdinMode
	// PTY: stdin and stdout are a raw terminal of 30 rows and 120 columns,
	// stderr a pipe, no new session (sidecar.md §6).
	PTY bool
	// SecretValues never appear in the stderr tail.
	SecretValues []string
}

// StdinMode says what a child's stdin is.
type StdinMode int

// Modes of stdin.
const (
	StdinPipe StdinMode = iota
	StdinNull
)

// A Process is a running child and all its descendants.
type Process interface {
	// Stdin is nil with StdinNull. Closing it is end of input.
	Stdin() io.WriteCloser
	// Stdout ends when the child and everything that holds the pipe is gone,
	// or shortly after the child's own exit, whoever holds it.
	Stdout() io.Reader
	// PID of the leader.
	PID() int
	// Exited is closed when the leader has exited.
	Exited() <-chan struct{}
	// Status is valid once Exited is closed.
	Status() ExitStatus
	// StderrTail is the redacted last 16 KiB of stderr, valid UTF-8.
	StderrTail() string
	// Interrupt sends SIGINT to the group.
	Interrupt() error
	// End ends the whole tree by the ladder of lanes.md §2 (close stdin,
	// wait, TERM, wait, KILL, sweep descendants) and returns when nothing of
	// it is left. Idempotent and safe for concurrent use.
	End(ctx context.Context) error
	// Kill is End without the waiting rungs.
	Kill(ctx context.Context) error
}

// A TerminalProcess is a [Process] that may have a terminal.
type TerminalProcess interface {
	// SetSize sets the terminal's size in characters; without a terminal it
	// is an error.
	SetSize(cols, rows int) error
}

// ExitStatus is how a leader ended.
type ExitStatus struct {
	// Code is -1 when a signal ended it.
	Code int
	// Signal is "" unless a signal ended it, else like "SIGKILL".
	Signal string
}

// A Workspace serves an agent's client-side requests from live documents
// (core only).
type Workspace interface {
	// ReadTextFile returns live text. line is 1-based, 0 for the start; limit
	// 0 for all lines.
	ReadTextFile(ctx context.Context, path string, line, limit int) (string, error)
	WriteTextFile(ctx context.Context, path, content string) error
	CreateTerminal(ctx context.Context, c TerminalCommand) (id string, err error)
	TerminalOutput(ctx context.Context, id string) (TerminalOutput, error)
	WaitTerminal(ctx context.Context, id string) (ExitStatus, error)
	KillTerminal(ctx context.Context, id string) error
	ReleaseTerminal(ctx context.Context, id string) error
}

// TerminalCommand is ACP's terminal/create.
type TerminalCommand struct {
	Command string
	Args    []string
	Cwd     string
	Env     map[string]string
	// OutputByteLimit is 0 for none.
	OutputByteLimit int64
}

// TerminalOutput is what a terminal has printed so far. Exit is nil while it
// runs.
type TerminalOutput struct {
	Output    string
	Truncated bool
	Exit      *ExitStatus
}
