package core

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// FsReadNext is where a read goes on: exactly one member is set.
type FsReadNext struct {
	// Position in the text.
	Position *Position
	// Byte of the file.
	Byte int64
}

// DecodeParam reads the union.
func (n *FsReadNext) DecodeParam(raw jsontext.Value) error {
	*n = FsReadNext{}
	if raw.Kind() == '0' {
		return op.DecodeStrict(raw, &n.Byte)
	}
	n.Position = new(Position)
	return op.DecodeStrict(raw, n.Position)
}

// UnmarshalJSON reads the union.
func (n *FsReadNext) UnmarshalJSON(raw []byte) error { return n.DecodeParam(raw) }

// MarshalJSON writes the union.
func (n FsReadNext) MarshalJSON() ([]byte, error) {
	if n.Position != nil {
		return json.Marshal(n.Position)
	}
	return json.Marshal(n.Byte)
}

// JSONSchema describes the union.
func (FsReadNext) JSONSchema() op.Schema {
	return op.Schema{"oneOf": []any{op.SchemaOf(Position{}, op.Open), op.SchemaOf(int64(0), op.Open)}}
}

// FsRead reads a file.
var FsRead = &op.Op[FsReadParams, FsReadResult]{
	Name: "fs.read", Since: 1, Effect: op.Read,
	Doc:    "reads a file as text or, with bytes, as base64; at most 8 MiB a reply.",
	Errors: fsErrors(op.CodeBinaryFile, op.CodeBadIndex, op.CodeNotText),
}

// ChangeKind says how a path changed.
type ChangeKind string

// The kinds.
const (
	Created ChangeKind = "created"
	Changed ChangeKind = "changed"
	Removed ChangeKind = "removed"
	Renamed ChangeKind = "renamed"
)

// Enum lists the values.
func (ChangeKind) Enum() []string { return []string{"created", "changed", "removed", "renamed"} }

// FsChange is one changed path.
type FsChange struct {
	PathOut
	// Kind says how it changed.
	Kind ChangeKind `json:"kind"`
	// From is the old path of a renamed one.
	From string `json:"from,omitzero"`
	// Type of the thing.
	Type FileType `json:"type"`
}

// FsChangedParams are the params of [FsChanged].
type FsChangedParams struct {
	// Root that holds the paths.
	Root string `json:"root"`
	// Changes, 256 at most.
	Changes []FsChange `json:"changes"`
	// Origin is who changed them.
	Origin Origin `json:"origin"`
}

// FsChanged tells changes of files.
var FsChanged = &op.Event[FsChangedParams]{
	Name: "fs.changed", Since: 1, Doc: "tells what changed in the files, by the core or by others.",
}

// RootParams name a root.
type RootParams struct {
	// Root is the folder.
	Root string `json:"root"`
}

// FsRescan tells that track was lost.
var FsRescan = &op.Event[RootParams]{
	Name: "fs.rescan", Since: 1, Doc: "tells that changes may have been missed: read again what matters.",
}

// FsDegradedParams are the params of [FsDegraded].
type FsDegradedParams struct {
	// Reason says why.
	Reason string `json:"reason"`
}

// FsDegraded tells that watching fell back to polling.
var FsDegraded = &op.Event[FsDegradedParams]{
	Name: "fs.degraded", Since: 1, Doc: "tells that watching fell back to polling.",
}
