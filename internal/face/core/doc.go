// Package core is the face of the core protocol: it reads requests from
// connections, calls the operations of an op.Mux, and sends responses and
// events through the hub (core.md §1 to §3). It binds session.* and run.*
// itself; the other namespaces bind their own operations to the same table.
//
// # Life of a request
//
// The connection's reading goroutine frames and checks the line, finds the
// row, decodes the params and decides the order ([order]); then the handler
// runs in a goroutine of its own, and its response is enqueued behind the
// events that it emitted. session.hello runs on the reading goroutine, since
// everything behind it depends on it.
//
// # Concurrency
//
// [Server.ServeConn] owns the goroutines of its connection and returns when
// all of them have ended. [Server.Close] ends every connection.
package core
