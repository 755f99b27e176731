package proc

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"dragoman/internal/lane"
)

// A host on Windows has nothing to keep: the jobs of an instance end with it,
// also when it is killed, so there is no ledger either.
type host struct{}

func newHost(string, *slog.Logger) (*host, error) { return &host{}, nil }

func (h *host) begin(*Supervisor) {}
func (h *host) end() error        { return nil }

// A tree is a job object, which no descendant leaves.
type tree struct {
	leader       entry
	process, job windows.Handle
	released     chan struct{}
}

// resumeProcess is the one way to let a process run that was started
// suspended when its first thread's handle is gone.
var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// startTree starts the child suspended, so that it is in the job before it
// can start anything.
func (h *host) startTree(c *Command, path string, files []*os.File, _ uint64) (*tree, error) {
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: lastOfEach(c.Env), Sys: &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	pid, handle, err := syscall.StartProcess(path, append([]string{c.Program}, c.Args...), attr)
	if err != nil {
		windows.CloseHandle(job)
		return nil, &fs.PathError{Op: "execute", Path: path, Err: err}
	}
	t := &tree{leader: entry{pid: pid, name: c.Program}, process: windows.Handle(handle), job: job, released: make(chan struct{})}
	if start, ok := startOf(pid); ok {
		t.leader.start = start
	}
	if err := t.run(); err != nil {
		windows.TerminateProcess(t.process, 1)
		h.release(t)
		return nil, err
	}
	return t, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func (t *tree) run() error {
	if err := windows.AssignProcessToJobObject(t.job, t.process); err != nil {
		return err
	}
	if status, _, _ := resumeProcess.Call(uintptr(t.process)); status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

func (t *tree) wait() lane.ExitStatus {
	if _, err := windows.WaitForSingleObject(t.process, windows.INFINITE); err != nil {
		return lane.ExitStatus{Code: -1}
	}
	var code uint32
	if err := windows.GetExitCodeProcess(t.process, &code); err != nil {
		return lane.ExitStatus{Code: -1}
	}
	return lane.ExitStatus{Code: int(code)}
}

// expire ends the job: a pipe of Windows that somebody holds can't be left
// otherwise.
func (t *tree) expire(after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-t.released:
	case <-timer.C:
		windows.TerminateJobObject(t.job, 1)
	}
}

// jobPIDs bounds a look into a job; more are seen when these have ended.
const jobPIDs = 1024

func (t *tree) others() ([]entry, error) {
	if isClosed(t.released) {
		return nil, nil
	}
	var list struct {
		assigned, listed uint32
		pids             [jobPIDs]uintptr
	}
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil, err
	}
	var others []entry
	for _, pid := range list.pids[:list.listed] {
		if int(pid) != t.leader.pid {
			others = append(others, entry{pid: int(pid)})
		}
	}
	return others, nil
}

// terminate sends what a console program takes for Ctrl-Break.
func (t *tree) terminate([]entry) { t.breakGroup() }

func (t *tree) kill([]entry) { windows.TerminateJobObject(t.job, 1) }

func (t *tree) breakGroup() error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.leader.pid))
}

func (t *tree) signal(name string, _ *os.File) error {
	switch {
	case isClosed(t.released):
		return os.ErrProcessDone
	case name == "SIGINT":
		return t.breakGroup()
	case name == "SIGTERM", name == "SIGKILL":
		return windows.TerminateJobObject(t.job, 1)
	}
	return errors.ErrUnsupported
}

func (h *host) release(t *tree) {
	close(t.released)
	windows.CloseHandle(t.process)
	windows.CloseHandle(t.job)
}

func resize(*os.File, Size) error { return ErrNoTerminal }

var errClosedPipes = []error{io.EOF, os.ErrClosed, syscall.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA}

func pipeGone(err error) bool {
	for _, gone := range errClosedPipes {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}
