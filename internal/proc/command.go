package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"dragoman/internal/lane"
)

// Command is a child to start: argv, never a shell. It is not changed by a
// start.
type Command struct {
	// Program is looked up by [LookPath] on the PATH of Env.
	Program string
	// Args without argv[0].
	Args []string
	// Dir is the working folder; "" is our own.
	Dir string
	// Env is the child's whole environment. Of a repeated name the last counts.
	Env []string
	// Stdin is lane.StdinPipe or lane.StdinNull; it doesn't count with a PTY.
	Stdin    lane.StdinMode
	Terminal Terminal
	// Size of the terminal; the zero value is 30 rows and 120 columns.
	Size   Size
	Stderr StderrMode
	// SecretValues never appear in the stderr tail.
	SecretValues []string
}

// Terminal says whether a child has a terminal, and what it is to it.
type Terminal int

// Kinds of terminal.
const (
	// NoTerminal: stdin and stdout are pipes.
	NoTerminal Terminal = iota
	// RawTerminal: stdin and stdout are a raw terminal, which is not the
	// controlling one; no new session (sidecar.md §6).
	RawTerminal
	// SessionTerminal: a new session whose controlling terminal is stdin,
	// stdout and stderr, in its usual (cooked) mode (core.md §6, exec).
	SessionTerminal
)

// Size of a terminal in characters.
type Size struct{ Rows, Cols uint16 }

// defaultSize is what sidecar.md §6 gives a terminal.
var defaultSize = Size{Rows: 30, Cols: 120}

// StderrMode says where a child's stderr goes. With a SessionTerminal it is
// the terminal.
type StderrMode int

// Modes of stderr.
const (
	// StderrTail drains it; the last 16 KiB are kept for messages.
	StderrTail StderrMode = iota
	// StderrPipe hands it to the caller, who reads [Process.Stderr] to its end.
	StderrPipe
)

// Errors of a start, to be told apart with errors.Is.
var (
	// ErrClosed is returned by starts after Close.
	ErrClosed = errors.New("supervisor is closed")
	// ErrDir: the working folder is missing or isn't a folder.
	ErrDir = errors.New("working folder")
	// ErrNoTerminal: this system has no pseudo terminals for us.
	ErrNoTerminal = errors.New("no pseudo terminal on this system")
)

// A StartError says why a child couldn't be started. errors.Is tells
// fs.ErrNotExist (no such program, or with ErrDir no such folder) from
// fs.ErrPermission (not executable).
type StartError struct {
	// Program as the command named it.
	Program string
	// Err is the cause.
	Err error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %s: %v", e.Program, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// checkDir returns an error that is ErrDir unless dir is a folder or "".
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return &dirError{dir: dir, err: err}
	}
	return nil
}

// dirError is ErrDir with the folder and the reason.
type dirError struct {
	dir string
	err error
}

func (e *dirError) Error() string   { return fmt.Sprintf("working folder %s: %v", e.dir, reason(e.err)) }
func (e *dirError) Unwrap() []error { return []error{ErrDir, e.err} }

// reason returns what went wrong without the path, which the message has.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// A SurvivorError says that something of a tree couldn't be ended within the
// time that the ladder gives. Ending can be tried again.
type SurvivorError struct {
	// PIDs of what is left, ascending.
	PIDs []int
	// Names of the programs, index by index.
	Names []string
}

func (e *SurvivorError) Error() string {
	text := "processes that could not be ended:"
	for i, pid := range e.PIDs {
		text += fmt.Sprintf(" %d (%s)", pid, e.Names[i])
	}
	return text
}
