// Package session is the engine of an agent session, one for every lane and
// every face: it knows neither. It owns what they must agree on: the states
// of a session, turns one after the other, the fence that a turn's number is
// for cancels, questions and late events, the stamps on events, what closing
// does (sidecar.md §2, lanes.md §1).
//
// # Parts
//
// An [Opener] checks a spec in the order of sidecar.md §2 and opens it. A
// [Session] runs turns over a [lane.Conn] and tells its [Host] what happens.
// [State] is the table of a session's states.
//
// # Concurrency
//
// Submit, BeginCancel and BeginClose decide at once and never wait for the
// agent or for the host, so a reading goroutine may call them in wire order;
// what they begin is waited for elsewhere. Events reach the host one at a
// time. A session has at most one goroutine that runs turns, one that watches
// for silence while a turn runs, and one that closes; Close waits for all.
package session
