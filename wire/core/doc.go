// Package core declares every operation and event of the core protocol
// (core.md §6), one file a namespace. How a declaration works and how a
// namespace binds its handlers is told in [dragoman/wire/op].
//
// A name follows from the wire's by rule: buffer.replaceAll is
// [BufferReplaceAll] with BufferReplaceAllParams. [Ops] and [Events] list
// everything.
//
// Paths: params embed [PathIn] (path or pathBytes), results embed [PathOut].
// Positions: [Position] counts characters in the client's unit; the unit of
// a call is op.Call.Unit. Things that calls write in order are named by
// [BufferKey] and [PathKey].
package core
