package web

import (
	"context"
	"net/http"

	"github.com/coder/websocket"

	face "dragoman/internal/face/core"
	"dragoman/wire/core"
	"dragoman/wire/op"
)

// Accept hands WebSockets that were let in to a core, as clients that may do
// everything: who had the URL has the core.
func Accept(ctx context.Context, srv *face.Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // it has answered
		}
		s := NewSocket(ws, core.MaxLine)
		_ = srv.ServeConn(ctx, s, s, face.Peer{
			Transport: core.TransportWebSocket, Access: op.Access{Role: op.Control},
		})
	}
}
