package core

import "dragoman/wire/op"

// ClientName says which program a client is.
type ClientName struct {
	// Name of the program.
	Name string `json:"name"`
	// Version of the program.
	Version string `json:"version"`
}

// SessionHelloParams are the parameters of [SessionHello].
type SessionHelloParams struct {
	// Client says which program this is.
	Client *ClientName `json:"client,omitzero"`
	// Token is asked for on TCP and WebSocket.
	Token string `json:"token,omitzero"`
	// PositionEncoding lists units, the preferred first; unknown ones are passed over.
	PositionEncoding []string `json:"positionEncoding,omitempty"`
	// Events are patterns: a name, prefix.* or *.
	Events []string `json:"events,omitzero"`
	// Core is the instance that Since counts in.
	Core string `json:"core,omitzero"`
	// Since asks for the events after that one.
	Since *int64 `json:"since,omitzero"`
}

// Limits are the core's limits (core.md §1, §3).
type Limits struct {
	// LineBytes is the longest line.
	LineBytes int64 `json:"lineBytes"`
	// InFlight is how many requests a connection may have open.
	InFlight int64 `json:"inFlight"`
	// QueueBytes is what may wait for a client before it is dropped.
	QueueBytes int64 `json:"queueBytes"`
	// RingBytes is what is kept for replay.
	RingBytes int64 `json:"ringBytes"`
}

// GapReason says why events can't be replayed.
type GapReason string

// The reasons of a gap.
const (
	GapEvicted   GapReason = "evicted"
	GapRestarted GapReason = "restarted"
	GapFuture    GapReason = "future"
)

// Enum lists the values.
func (GapReason) Enum() []string { return []string{"evicted", "restarted", "future"} }

// Gap tells which events a replay lacks.
type Gap struct {
	// From is the first event that is missing.
	From int64 `json:"from"`
	// To is the last one.
	To int64 `json:"to"`
	// Reason says why.
	Reason GapReason `json:"reason"`
}

// SessionHelloResult is the result of [SessionHello].
type SessionHelloResult struct {
	// Protocol is the version number.
	Protocol int `json:"protocol"`
	// Name is dragoman.
	Name string `json:"name"`
	// Version of the program.
	Version string `json:"version"`
	// Ops are the operations bound, sorted.
	Ops []string `json:"ops"`
	// Events are the events, sorted.
	Events []string `json:"events"`
	// Core is this instance, new at each start.
	Core string `json:"core"`
	// ClientID is this connection's.
	ClientID string `json:"clientId"`
	// Role is what the client may do.
	Role op.Role `json:"role"`
	// PositionEncoding is the unit chosen.
	PositionEncoding string `json:"positionEncoding"`
	// FSRoot is the narrowest folder that holds all roots.
	FSRoot string `json:"fsroot"`
	// Root is the first root.
	Root string `json:"root"`
	// Roots are all of them.
	Roots []string `json:"roots"`
	// OS is Go's name of the system.
	OS string `json:"os"`
	// Arch is Go's name of the processor.
	Arch string `json:"arch"`
	// PathSeparator is the system's.
	PathSeparator string `json:"pathSeparator"`
	// PID is the core's process.
	PID int `json:"pid"`
	// StartedAt is when the core started.
	StartedAt Time `json:"startedAt"`
	// Limits are the core's.
	Limits Limits `json:"limits"`
	// Seq is the last event before this response.
	Seq int64 `json:"seq"`
	// Oldest is the oldest event that can be replayed.
	Oldest int64 `json:"oldest"`
	// Gap is there when Since couldn't be met.
	Gap *Gap `json:"gap,omitzero"`
}

// SessionHello attaches a connection.
var SessionHello = &op.Op[SessionHelloParams, SessionHelloResult]{
	Name: "session.hello", Since: 1, Effect: op.Read,
	Doc:    "attaches this connection: from here on it gets events and stands among the clients. With since, the events after that one follow the response.",
	Events: []string{"session.attached"},
}

// SessionSubscribeParams are the parameters of [SessionSubscribe].
type SessionSubscribeParams struct {
	// Events are patterns: a name, prefix.* or *.
	Events []string `json:"events"`
}

// SessionSubscribe changes a client's filter.
var SessionSubscribe = &op.Op[SessionSubscribeParams, None]{
	Name: "session.subscribe", Since: 1, Effect: op.Read,
	Doc: "replaces the filter that decides which events come to this client.",
}

// Transport is how a client is connected.
type Transport string

// The transports.
const (
	TransportStdio     Transport = "stdio"
	TransportUnix      Transport = "unix"
	TransportTCP       Transport = "tcp"
	TransportWebSocket Transport = "websocket"
)

// ClientInfo is one attached client.
type ClientInfo struct {
	// ClientID is the client's.
	ClientID string `json:"clientId"`
	// Name of the program, where it said one.
	Name string `json:"name,omitzero"`
	// Version of the program, where it said one.
	Version string `json:"version,omitzero"`
	// Role is what it may do.
	Role op.Role `json:"role"`
	// Transport is stdio, unix, tcp or websocket.
	Transport Transport `json:"transport"`
	// AttachedAt is the moment of its hello.
	AttachedAt Time `json:"attachedAt"`
}

// SessionClientsResult is the result of [SessionClients].
type SessionClientsResult struct {
	// Clients are the attached ones, the oldest first.
	Clients []ClientInfo `json:"clients"`
}

// SessionClients lists the attached clients.
var SessionClients = &op.Op[None, SessionClientsResult]{
	Name: "session.clients", Since: 1, Effect: op.Read,
	Doc: "lists the attached clients.",
}

// SessionDetachParams are the parameters of [SessionDetach].
type SessionDetachParams struct {
	// ClientID is the client to end.
	ClientID string `json:"clientId"`
}

// SessionDetach ends a client's connection.
var SessionDetach = &op.Op[SessionDetachParams, None]{
	Name: "session.detach", Since: 1, Effect: op.Admin,
	Doc:    "closes the connection of a client.",
	Errors: []op.Code{op.CodeNotFound}, Events: []string{"session.detached"},
}

// SessionPing answers.
var SessionPing = &op.Op[None, None]{
	Name: "session.ping", Since: 1, Effect: op.Read,
	Doc: "answers: a sign of life.",
}

// OpStats are the figures of one operation.
type OpStats struct {
	// Count of responses.
	Count int64 `json:"count"`
	// Errors among them.
	Errors int64 `json:"errors"`
	// P50Us is the median time to the response in microseconds.
	P50Us int64 `json:"p50Us"`
	// P99Us is the 99th percentile of it.
	P99Us int64 `json:"p99Us"`
}

// SessionStatsResult is the result of [SessionStats].
type SessionStatsResult struct {
	// UptimeMs is the core's age.
	UptimeMs int64 `json:"uptimeMs"`
	// MemoryBytes is what the core holds of the system's memory.
	MemoryBytes int64 `json:"memoryBytes"`
	// Goroutines of the core.
	Goroutines int `json:"goroutines"`
	// Clients attached.
	Clients int `json:"clients"`
	// Ops by name, those called at least once.
	Ops map[string]OpStats `json:"ops"`
}

// SessionStats tells figures.
var SessionStats = &op.Op[None, SessionStatsResult]{
	Name: "session.stats", Since: 1, Effect: op.Read,
	Doc: "tells how the core does: memory, clients, and the times of each operation.",
}

// SessionDescribeParams are the parameters of [SessionDescribe].
type SessionDescribeParams struct {
	// Op asks for one operation alone.
	Op string `json:"op,omitzero"`
}

// SessionDescribeResult is the result of [SessionDescribe].
type SessionDescribeResult struct {
	// Ops are the declarations, sorted by name.
	Ops []op.Desc `json:"ops"`
}

// SessionDescribe tells the declarations.
var SessionDescribe = &op.Op[SessionDescribeParams, SessionDescribeResult]{
	Name: "session.describe", Since: 1, Effect: op.Read,
	Doc:    "tells the declaration of one operation or of all, with JSON Schemas.",
	Errors: []op.Code{op.CodeNotFound},
}

// SessionShutdownParams are the parameters of [SessionShutdown].
type SessionShutdownParams struct {
	// Drain waits for the runs before it ends.
	Drain bool `json:"drain,omitzero"`
	// Force ends runs and leaves unsaved text to the recovery log.
	Force bool `json:"force,omitzero"`
}

// SessionShutdown ends the core.
var SessionShutdown = &op.Op[SessionShutdownParams, None]{
	Name: "session.shutdown", Since: 1, Effect: op.Admin,
	Doc:    "ends the core. With work or unsaved text it is refused, unless drain or force is given.",
	Errors: []op.Code{op.CodeBusy}, Events: []string{"session.closing"},
}

// SessionAttached tells of a new client.
var SessionAttached = &op.Event[ClientInfo]{
	Name: "session.attached", Since: 1, Doc: "tells that a client attached.",
}

// SessionDetachedParams are the params of [SessionDetached].
type SessionDetachedParams struct {
	// ClientID is the client's.
	ClientID string `json:"clientId"`
	// Name of the program, where it said one.
	Name string `json:"name,omitzero"`
	// Role is what it could do.
	Role op.Role `json:"role"`
}

// SessionDetached tells that a client is gone.
var SessionDetached = &op.Event[SessionDetachedParams]{
	Name: "session.detached", Since: 1, Doc: "tells that a client is gone.",
}

// SessionClosingParams are the params of [SessionClosing].
type SessionClosingParams struct {
	// Reason says why: shutdown, drain or signal.
	Reason string `json:"reason"`
	// DeadlineAt is when the core is gone at the latest.
	DeadlineAt Time `json:"deadlineAt"`
}

// SessionClosing tells that the core ends.
var SessionClosing = &op.Event[SessionClosingParams]{
	Name: "session.closing", Since: 1, Doc: "tells that the core ends.",
}

// SessionDroppedParams are the params of [SessionDropped].
type SessionDroppedParams struct {
	// Reason is slow.
	Reason string `json:"reason"`
}

// SessionDropped is the last line to a client that was too slow; it has no
// seq.
var SessionDropped = &op.Event[SessionDroppedParams]{
	Name: "session.dropped", Since: 1, Bulk: true,
	Doc: "is the last line to a client that read too slowly.",
}
