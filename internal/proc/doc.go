// Package proc is the only package that starts a process. It keeps hold of
// everything that a child starts in turn, until all of it is gone.
//
// # What a tree is
//
// A child leads a process group of its own. Its tree is everything that
// descends from it, also what left the group (setsid), lost its parent
// (double fork) or cleared its environment. On Linux three things find it:
// we are a child subreaper, so an orphan becomes our child; every start
// carries a marker that children inherit (see mark_linux.go); and what one
// scan of the process table showed is remembered for the next. On macOS it is
// the group and the process table, so an orphan that left the group before
// the first look is missed. On Windows it is a job object.
//
// # Life of a child
//
// Start, then streams, then Exited, then [Process.End]. Whoever starts a
// child ends it: a leader that has exited stays in the process table, as a
// zombie, until End, so that its pid and its group can't become somebody
// else's while the rest of its tree is found and ended.
//
// # Concurrency
//
// All methods of [Supervisor] and [Process] may be called from any goroutine,
// but each stream has one reader or writer at a time. Supervisor.Close waits
// for every goroutine of the package.
package proc
