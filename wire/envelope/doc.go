// Package envelope is agent protocol v1, the provider-neutral JSON Lines
// protocol between a host and an agent (envelope.md): the five kinds of
// envelope, a codec within budgets, and the session state machine of either
// side.
//
// The package is inert: it starts nothing, reads no clock and owns no stream.
// A [Decoder] judges one line, an [Encoder] makes one, and a [Session] says
// what one envelope means after those before it. Package envelope/host and
// package envelope/agent run them over a connection.
//
// # Errors
//
// Whatever is wrong with a peer's line is an [*Error] with one [Code] and the
// byte offset in the line. A line that breaks several rules gets the first
// of: size, UTF-8, JSON, object, version, kind, fields in the order of the
// specification's table, repeated messageId, session rule.
package envelope
