// Package jsonrpc is a JSON-RPC 2.0 peer over newline-delimited JSON, for both
// directions of one connection (sidecar.md §1).
//
// A [Peer] reads in the goroutine that calls Serve. Requests and notifications
// reach the [Handler] there, in wire order; a request is answered inline, or by
// a goroutine of its own that the Peer waits for. Ids, params and results are
// carried byte for byte. Every call of ours settles exactly once.
package jsonrpc
