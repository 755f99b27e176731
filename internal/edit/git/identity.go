package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/internal/edit/file"
)

// An id tells one state of a file from another without reading it.
type id struct {
	there bool
	stat  file.Stat
}

func identity(path string) id {
	info, err := os.Stat(path)
	if err != nil {
		return id{}
	}
	return id{true, file.StatOf(info)}
}

// String differs when the file was changed or replaced.
func (i id) String() string {
	if !i.there {
		return "-;"
	}
	return fmt.Sprintf("%v.%d.%d.%d;", i.stat.Key, i.stat.Size, i.stat.Mtime.UnixNano(), i.stat.Ctime.UnixNano())
}

// stable differs only when it was replaced.
func (i id) stable() string {
	if !i.there {
		return "-;"
	}
	return fmt.Sprintf("%v;", i.stat.Key)
}

// identities joins those of files, one after the other.
func identities(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString(identity(p).String())
	}
	return b.String()
}

// refsMoved is what git.changed is about: HEAD, index and refs.
func refsMoved(dir, common string) string {
	var b strings.Builder
	b.WriteString(identities(
		filepath.Join(dir, "HEAD"), filepath.Join(dir, "index"),
		filepath.Join(common, "packed-refs"), filepath.Join(common, "reftable", "tables.list"),
	))
	for _, refs := range refFolders(dir, common) {
		_ = filepath.WalkDir(refs, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".lock") {
				b.WriteString(path)
				b.WriteString(identity(path).String())
			}
			return nil // what isn't there has no state
		})
	}
	return b.String()
}

// refFolders are where loose refs are.
func refFolders(dir, common string) []string {
	folders := []string{filepath.Join(common, "refs")}
	if dir != common {
		folders = append(folders, filepath.Join(dir, "refs"))
	}
	return folders
}

// settings are what of the configuration we need ourselves.
type settings struct {
	// files decide about the settings, and mark is their state.
	files []string
	mark  string
	// ignores and attributes are the user's own files.
	ignores, attributes string
	// ssh is core.sshCommand.
	ssh string
}

// settings reads the configuration once for each of its states.
func (s *Space) settings(ctx context.Context, r *repo) (*settings, error) {
	r.mu.Lock()
	last := r.settings
	r.mu.Unlock()
	if last != nil && last.mark == identities(last.files...) {
		return last, nil
	}
	c := &settings{files: s.configFiles(r)}
	before, fixed := identities(c.files...), len(c.files)
	raw, err := s.output(ctx, r.git("config", "--list", "--show-origin", "--includes", "-z"))
	if err != nil {
		return nil, err
	}
	c.parse(string(raw), r, s.home())
	// Files that only the answer named are taken as they were after it.
	c.mark = before + identities(c.files[fixed:]...)
	r.mu.Lock()
	r.settings = c
	r.mu.Unlock()
	return c, nil
}

func (s *Space) home() string { return lookup(s.opts.Environ, "HOME") }

func (s *Space) userDir() string {
	if x := lookup(s.opts.Environ, "XDG_CONFIG_HOME"); x != "" {
		return filepath.Join(x, "git")
	}
	return filepath.Join(s.home(), ".config", "git")
}

// configFiles are where git looks for configuration, whether it is there now
// or not.
func (s *Space) configFiles(r *repo) []string {
	files := []string{
		filepath.Join(r.common, "config"), filepath.Join(r.dir, "config.worktree"), "/etc/gitconfig",
	}
	if g := lookup(s.opts.Environ, "GIT_CONFIG_GLOBAL"); g != "" {
		return append(files, g)
	}
	return append(files, filepath.Join(s.home(), ".gitconfig"), filepath.Join(s.userDir(), "config"))
}

// parse reads pairs of an origin and a setting.
func (c *settings) parse(raw string, r *repo, home string) {
	known := map[string]bool{}
	for _, f := range c.files {
		known[f] = true
	}
	parts := strings.Split(raw, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		if f, ok := strings.CutPrefix(parts[i], "file:"); ok {
			if !filepath.IsAbs(f) {
				f = filepath.Join(r.top, f)
			}
			if !known[f] {
				known[f] = true
				c.files = append(c.files, f)
			}
		}
		key, value, _ := strings.Cut(parts[i+1], "\n")
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(home, rest)
		}
		switch key {
		case "core.excludesfile":
			c.ignores = value
		case "core.attributesfile":
			c.attributes = value
		case "core.sshcommand":
			c.ssh = value
		}
	}
}
