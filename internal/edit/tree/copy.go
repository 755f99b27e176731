package tree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"dragoman/internal/edit/file"
)

// copyBuffer is how much is copied between two looks at the context, in bytes.
const copyBuffer = 1 << 20

// Copy copies a thing of one folder into another under a new name: files with
// their mode and time, folders with all that is in them, links as links. What
// is neither is file.ErrNotRegular. progress is told the bytes so far. After an
// error a part may be there.
func Copy(ctx context.Context, from *os.Root, name string, to *os.Root, as string, progress func(bytes int64)) error {
	c := &copying{ctx: ctx, progress: progress}
	return c.thing(from, name, to, as)
}

type copying struct {
	ctx      context.Context
	progress func(int64)
	bytes    int64
	buf      []byte
}

func (c *copying) thing(from *os.Root, name string, to *os.Root, as string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return c.file(from, name, to, as, info)
	case mode.IsDir():
		return c.folder(from, name, to, as, info)
	case mode&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(target, as)
	}
	return &fs.PathError{Op: "copy", Path: name, Err: file.ErrNotRegular}
}

func (c *copying) file(from *os.Root, name string, to *os.Root, as string, info fs.FileInfo) error {
	in, err := from.OpenFile(name, file.OpenFlags, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(as, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = c.content(out, in)
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
	if err != nil {
		return err
	}
	return to.Chtimes(as, info.ModTime(), info.ModTime())
}

func (c *copying) content(out io.Writer, in io.Reader) error {
	if c.buf == nil {
		c.buf = make([]byte, copyBuffer)
	}
	for {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := in.Read(c.buf)
		if n > 0 {
			if _, err := out.Write(c.buf[:n]); err != nil {
				return err
			}
			c.bytes += int64(n)
			c.progress(c.bytes)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copying) folder(from *os.Root, name string, to *os.Root, as string, info fs.FileInfo) error {
	src, err := from.OpenRoot(name)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := to.Mkdir(as, 0o700); err != nil {
		return err
	}
	dst, err := to.OpenRoot(as)
	if err != nil {
		return err
	}
	defer dst.Close()
	entries, err := fs.ReadDir(src.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.thing(src, e.Name(), dst, e.Name()); err != nil {
			return err
		}
	}
	return errors.Join(dst.Chmod(".", info.Mode().Perm()), to.Chtimes(as, info.ModTime(), info.ModTime()))
}
