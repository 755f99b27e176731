// Package hub carries events and responses to the clients of the core
// (core.md §3): one sequence of events for all, a bounded ring for replay, a
// queue a client, and the rule for clients that read too slowly.
//
// Events live in one linked log. A client is a cursor in it and a short queue
// of lines of its own (responses, bulk events), each of which remembers the
// event that it must follow; so an operation's events stand before its
// response, and a run's bulk events before its run.ended. An event is
// encoded once for each position unit in use, and its bytes are shared by
// all clients: what a client adds to an event's cost is a step of its cursor
// and its share of one write.
//
// # Concurrency
//
// [Hub.Emit] takes the hub's lock for the append alone and never waits for a
// client. Each client has one writing goroutine, which Close and the end of
// its connection stop; [Hub.Close] waits for all of them. Old events stay in
// memory as long as the ring or a cursor reaches them, at most
// Options.QueueBytes a client, then the client is dropped.
//
// The hub knows no operation and no transport.
package hub
