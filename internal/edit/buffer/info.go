package buffer

import (
	"io/fs"
	"slices"
	"time"

	"dragoman/internal/edit/text"
)

// An ID names a buffer for as long as the core runs: "b1", "b2".
type ID string

// A State is how a buffer stands to its file (documents.md rule 6).
type State string

// The states of a buffer.
const (
	OK         State = "ok"
	StaleState State = "stale"
	Gone       State = "gone"
	InConflict State = "conflict"
)

// An EOL is a kind of line end.
type EOL string

// The kinds of line ends.
const (
	LF   EOL = "lf"
	CRLF EOL = "crlf"
)

func (e EOL) byte() byte {
	if e == CRLF {
		return text.CRLF
	}
	return '\n'
}

// Disk is a state of a file: the base of a buffer, or what is there now.
type Disk struct {
	// Hash is "sha256:HEX" of the bytes; "" until computed for large files.
	Hash  string
	Mtime time.Time
	Size  int64
	Mode  fs.FileMode
}

// RecoveryInfo says that unsaved edits of an earlier core wait.
type RecoveryInfo struct {
	ID      string
	SavedAt time.Time
	Edits   int
	// BaseChanged: the file isn't the one that they were made on.
	BaseChanged bool
}

// Info describes a buffer (core.md §6 BufferInfo).
type Info struct {
	Buffer ID
	// Path is absolute with every link followed; "" for a scratch buffer.
	Path                    string
	Name                    string
	Revision, SavedRevision int64
	Modified                bool
	LineCount, Bytes        int
	Encoding                string
	BOM                     bool
	EOL                     EOL
	Mixed, FinalNewline     bool
	New, ReadOnly           bool
	Language                string
	Disk                    *Disk
	State                   State
	Recovery                *RecoveryInfo
	Clients                 []string
}

// Origin says who changed a buffer and how (core.md §6 Origin).
type Origin struct {
	Kind                           string
	Client, Run, Session, ToolCall string
	Certainty                      string
	Runs                           []string
	Reason                         string
}

func (o Origin) because(reason string) Origin {
	o.Reason = reason
	return o
}

// diskOrigin is the origin of a change that nobody is known for.
var diskOrigin = Origin{Kind: "disk", Certainty: "exact"}

// A Range is a half-open range of positions.
type Range struct {
	Start, End text.Position
}

// UnitCount is the number of units, for arrays by unit.
const UnitCount = 3

// A ChangedEdit is one edit of a change.
type ChangedEdit struct {
	// Ranges are its range by unit; only those of the observer's units are set.
	Ranges [UnitCount]Range
	// Text is the wire's form of what takes its place.
	Text string
}

// A Change is one new revision of a buffer (core.md §6 buffer.changed).
type Change struct {
	Buffer         ID
	From, Revision int64
	// Edits go from the last to the first: each range holds in the old text,
	// and when they are applied one after the other.
	Edits []ChangedEdit
	// Reset: the edits are too much to send; clients re-read.
	Reset     bool
	LineCount int
	Modified  bool
	Origin    Origin

	// facts are those before the change.
	facts facts
}

// A Saved is one save.
type Saved struct {
	Buffer   ID
	Path     string
	Revision int64
	Hash     string
	Bytes    int64
	Origin   Origin
}

// An Observer is told of everything that clients are. Its methods are called
// with a lock held: they must not block, and must not call this package.
type Observer interface {
	// Units says for which units positions are wanted.
	Units() [UnitCount]bool
	// Opened: a buffer is there now.
	Opened(Info)
	// Closed: a buffer is gone, because of "closed" or "discarded".
	Closed(b ID, path, reason string)
	// Changed: the text has a new revision.
	Changed(Change)
	// Saved: the text was written.
	Saved(Saved)
	// Info: other members of the info changed, which are named as on the wire.
	Info(info Info, members []string)
}

// facts are the members of Info that an edit may change besides those in a
// Change.
type facts struct {
	eol                 EOL
	mixed, finalNewline bool
}

func (b *Buffer) factsLocked() facts {
	view := b.store.View()
	if b.finalAt != b.store.Version()+1 {
		b.final, b.finalAt = view.FinalNewline(), b.store.Version()+1
	}
	m := view.Metrics()
	return facts{eolOf(m, b.preferred), m.CRLF > 0 && m.CRLF < m.Lines, b.final}
}

// eolOf is the kind of line end of most lines, or else what is preferred.
func eolOf(m text.Metrics, preferred EOL) EOL {
	switch {
	case 2*m.CRLF > m.Lines:
		return CRLF
	case 2*m.CRLF < m.Lines:
		return LF
	default:
		return preferred
	}
}

func (b *Buffer) infoLocked() Info {
	view, f := b.store.View(), b.factsLocked()
	info := Info{
		Buffer: b.id, Path: b.path, Name: b.name,
		Revision: b.revision, SavedRevision: b.savedRevision, Modified: b.modifiedLocked(),
		LineCount: view.LineCount(), Bytes: view.Len(),
		Encoding: b.format.Encoding, BOM: b.format.BOM,
		EOL: f.eol, Mixed: f.mixed, FinalNewline: f.finalNewline,
		New: b.isNew, ReadOnly: b.readOnly, Language: languageOf(b.name),
		State: b.state, Recovery: b.recovery,
	}
	if b.base != nil {
		info.Disk = b.base.disk()
	}
	for c := range b.clients {
		info.Clients = append(info.Clients, c)
	}
	slices.Sort(info.Clients)
	return info
}

func (b *Buffer) modifiedLocked() bool {
	return b.format != b.savedFormat || b.store.Modified()
}

// members names what differs between two infos, without the members that a
// Change carries.
func members(a, b Info) []string {
	var out []string
	add := func(name string, differs bool) {
		if differs {
			out = append(out, name)
		}
	}
	add("path", a.Path != b.Path)
	add("name", a.Name != b.Name)
	add("savedRevision", a.SavedRevision != b.SavedRevision)
	add("modified", a.Modified != b.Modified)
	add("encoding", a.Encoding != b.Encoding)
	add("bom", a.BOM != b.BOM)
	add("eol", a.EOL != b.EOL)
	add("mixed", a.Mixed != b.Mixed)
	add("finalNewline", a.FinalNewline != b.FinalNewline)
	add("new", a.New != b.New)
	add("readOnly", a.ReadOnly != b.ReadOnly)
	add("language", a.Language != b.Language)
	add("disk", (a.Disk == nil) != (b.Disk == nil) || a.Disk != nil && *a.Disk != *b.Disk)
	add("state", a.State != b.State)
	add("recovery", a.Recovery != b.Recovery)
	add("clients", !slices.Equal(a.Clients, b.Clients))
	return out
}

// update changes what the info shows and tells the observer.
func (b *Buffer) updateLocked(change func()) {
	before := b.infoLocked()
	change()
	b.tellLocked(before)
}

func (b *Buffer) tellLocked(before Info) {
	after := b.infoLocked()
	if m := members(before, after); len(m) > 0 {
		b.set.observer.Info(after, m)
	}
}

// languages are the names of languages by the end of a file's name.
var languages = map[string]string{
	".go": "go", ".py": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "javascriptreact",
	".ts": "typescript", ".tsx": "typescriptreact", ".rs": "rust", ".c": "c", ".h": "c", ".cc": "cpp",
	".cpp": "cpp", ".hpp": "cpp", ".java": "java", ".rb": "ruby", ".sh": "shellscript", ".bash": "shellscript",
	".lua": "lua", ".md": "markdown", ".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml",
	".html": "html", ".css": "css", ".sql": "sql", ".xml": "xml", ".php": "php", ".cs": "csharp",
	".swift": "swift", ".kt": "kotlin", ".txt": "plaintext", ".vim": "vim", ".zig": "zig",
}
