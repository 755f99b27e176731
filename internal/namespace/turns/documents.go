package turns

import (
	"context"
	"path/filepath"

	"dragoman/internal/edit/attribute"
	"dragoman/internal/edit/buffer"
	"dragoman/internal/edit/confine"
	"dragoman/internal/edit/text"
	"dragoman/internal/lane"
	buffers "dragoman/internal/namespace/buffer"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// MaxContextBytes is the most text that one piece of a prompt's context has.
const MaxContextBytes = 16 << 20

// Documents are the live texts that prompts take context from, and whose unsaved
// text agents don't see that read the disk (documents.md rule 7).
type Documents struct {
	Buffers *buffer.Set
	Roots   *confine.Roots
}

// Unsaved lists the modified documents below a folder.
func (d Documents) Unsaved(cwd string) []string {
	var paths []string
	for _, info := range d.Buffers.List() {
		if info.Path != "" && info.Modified && attribute.Covers(cwd, info.Path) {
			paths = append(paths, info.Path)
		}
	}
	return paths
}

// Save saves documents; the first that can't be saved ends it.
func (d Documents) Save(ctx context.Context, paths []string) error {
	for _, p := range paths {
		id, ok := d.Buffers.ByPath(p)
		if !ok {
			continue
		}
		o := buffer.Origin{Kind: string(core.OriginCore), Certainty: string(core.Exact), Reason: "save"}
		if _, err := d.Buffers.Save(ctx, buffer.SaveParams{Buffer: id, Origin: o}); err != nil {
			return buffers.WireError(err)
		}
	}
	return nil
}

// Context gives the live text of a piece of context; that of a file which isn't
// open is the disk's.
func (d Documents) Context(_ context.Context, unit op.Unit, c core.AgentContext) (lane.Attachment, error) {
	id, path := buffer.ID(c.Buffer), ""
	if c.Path != "" {
		real, err := d.Roots.Resolve(d.Roots.Abs(c.Path))
		if err != nil {
			return lane.Attachment{}, op.IO(err, c.Path)
		}
		path = real
		open, ok := d.Buffers.ByPath(real)
		if !ok {
			return d.onDisk(real)
		}
		id = open
	}
	info, err := d.Buffers.Get(id)
	if err != nil {
		return lane.Attachment{}, buffers.WireError(err)
	}
	t, _, err := d.Buffers.Snapshot(id)
	if err != nil {
		return lane.Attachment{}, buffers.WireError(err)
	}
	start, end := 0, t.Len()
	if c.Range != nil {
		if start, end, err = offsets(t, *c.Range, text.Unit(unit)); err != nil {
			return lane.Attachment{}, err
		}
	}
	if end-start > MaxContextBytes {
		return lane.Attachment{}, op.TooLarge(info.Name, MaxContextBytes, int64(end-start))
	}
	if path = info.Path; path == "" {
		return attachment("buffer:"+string(id), info.Name, string(t.AppendWire(nil, start, end))), nil
	}
	return attachment("file://"+path, info.Name, string(t.AppendWire(nil, start, end))), nil
}

func (d Documents) onDisk(path string) (lane.Attachment, error) {
	f, err := (confine.Files{Roots: d.Roots}).Open(path)
	if err != nil {
		return lane.Attachment{}, op.IO(err, path)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return lane.Attachment{}, op.IO(err, path)
	}
	if st.Size > MaxContextBytes {
		return lane.Attachment{}, op.TooLarge(path, MaxContextBytes, st.Size)
	}
	content := make([]byte, st.Size)
	n, err := f.ReadAt(content, 0)
	if int64(n) < st.Size {
		return lane.Attachment{}, op.IO(err, path)
	}
	if isBinary(content) {
		return lane.Attachment{}, op.Unsupported("%q is binary", path)
	}
	t := textOf(content)
	return attachment("file://"+path, filepath.Base(path), string(t.AppendWire(nil, 0, t.Len()))), nil
}

func attachment(uri, name, content string) lane.Attachment {
	return lane.Attachment{Type: "file", URI: uri, MimeType: "text/plain", Name: name, Text: content}
}

func offsets(t text.Text, r core.Range, u text.Unit) (start, end int, err error) {
	at := func(key string, p core.Position) int {
		off, failed := t.Offset(text.Position{Line: int(p.Line), Character: int(p.Character)}, u)
		if failed != nil && err == nil {
			err = op.BadIndex("context.range."+key, p)
		}
		return off
	}
	start, end = at("start", r.Start), at("end", r.End)
	if err == nil && end < start {
		err = op.BadIndex("context.range.end", r.End)
	}
	return start, end, err
}
