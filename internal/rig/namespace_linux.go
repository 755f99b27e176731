package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enter runs this program again where there is no way out: namespaces of its
// own and an empty environment. It returns the inner process's exit code.
func enter(ctx context.Context, o options, work, matrix string) (int, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	// The cache and the binaries may lie below the home that is covered.
	agentsDir := filepath.Join(work, "agents")
	if err := os.Mkdir(agentsDir, 0o755); err != nil {
		return 1, err
	}
	binary := filepath.Join(work, "under-test")
	if err := copyFile(o.binary, binary); err != nil {
		return 1, err
	}
	args := []string{"-inner", home, "-cache", o.cache + ":" + agentsDir, "-dragoman", binary, "-agents", o.agents, "-matrix", matrix}
	if o.verbose {
		args = append(args, "-v")
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, fmt.Errorf("the namespaces can't be made or the run was ended: %w", err)
	}
	return 0, nil
}

// settle makes the namespaces usable: mounts private, own /proc, the cache
// bound to a place that stays, home empty, loopback up. It returns the
// folder of the agents.
func settle(o options) (string, error) {
	cache, agentsDir, _ := strings.Cut(o.cache, ":")
	steps := []struct {
		what string
		do   func() error
	}{
		{"private mounts", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"own /proc", func() error { return unix.Mount("proc", "/proc", "proc", 0, "") }},
		{"bind the agents", func() error { return unix.Mount(cache, agentsDir, "", unix.MS_BIND, "") }},
		{"cover the home", func() error { return unix.Mount("tmpfs", o.inner, "tmpfs", 0, "mode=0700") }},
		{"loopback up", loopbackUp},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return "", fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return agentsDir, nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(request))); errno != 0 {
		return errno
	}
	return nil
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
