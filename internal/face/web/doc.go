// Package web serves the core to a browser: a page, and the core protocol
// over WebSocket (core.md §3).
//
// Who has the URL that the core printed gets in once: its fragment holds a
// code, which the page exchanges for a cookie. A WebSocket needs the cookie,
// the exact origin and a listed host; other sites' pages have none of them.
//
// # Concurrency
//
// A [Site] may be used from any goroutine. Connections end with the server
// that they are handed to.
package web
