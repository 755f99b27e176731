// Package sidecar is the face of the a4aa.v1 protocol: JSON-RPC 2.0 on two
// streams, one message a line (sidecar.md §1 to §3). It mirrors a lane: it
// translates between its host's dialect and the session engine, and decides
// nothing that the engine decides.
//
// # Order and back-pressure
//
// Requests are taken on the reading goroutine in the order of the wire: which
// turn a cancel means, and that a close takes no more prompts, is settled
// before the next line is read. What takes time runs on a goroutine a
// request. Everything for the host goes through one writer: a session's
// events wait for room in its quota, answers and questions never do.
//
// # The end
//
// EOF, the end of the context (a signal) and a closed output all lead to the
// same shutdown: opens in flight are ended, sessions closed, every request
// that was read is answered, and the output is flushed.
package sidecar
