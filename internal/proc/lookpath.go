package proc

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// LookPath finds the file of a program as a child with that environment and
// working folder would: a name with a slash is a path, relative to dir; any
// other is looked for on the PATH of env, of which relative elements count
// from dir and empty ones don't count (lanes.md §2). The result is absolute
// if dir is. errors.Is tells fs.ErrNotExist from fs.ErrPermission (found, but
// not executable).
func LookPath(program, dir string, env []string) (string, error) {
	if program == "" {
		return "", &fs.PathError{Op: "look up", Path: `""`, Err: fs.ErrNotExist}
	}
	if isPath(program) {
		return executable(under(dir, program), env)
	}
	path, ok := lookupEnv(env, "PATH")
	if !ok {
		return "", &fs.PathError{Op: "look up without a PATH", Path: program, Err: fs.ErrNotExist}
	}
	var denied error
	for _, element := range filepath.SplitList(path) {
		if element == "" {
			continue
		}
		file, err := executable(under(dir, filepath.Join(element, program)), env)
		if err == nil {
			return file, nil
		}
		if denied == nil && errors.Is(err, fs.ErrPermission) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", &fs.PathError{Op: "look up on PATH", Path: program, Err: fs.ErrNotExist}
}

func isPath(program string) bool {
	return strings.ContainsRune(program, '/') || strings.ContainsRune(program, filepath.Separator)
}

func under(dir, path string) string {
	if filepath.IsAbs(path) || dir == "" {
		return path
	}
	return filepath.Join(dir, path)
}

// lookupEnv returns the last value of name in env.
func lookupEnv(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if n, value, ok := strings.Cut(env[i], "="); ok && sameName(n, name) {
			return value, true
		}
	}
	return "", false
}

// lastOfEach returns env with only the last value of each name: with two of
// them programs disagree on which one counts.
func lastOfEach(env []string) []string {
	index := make(map[string]int, len(env))
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok {
			continue
		}
		if i, again := index[name]; again {
			out[i] = kv
			continue
		}
		index[name] = len(out)
		out = append(out, kv)
	}
	return out
}
