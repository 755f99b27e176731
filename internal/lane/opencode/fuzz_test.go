package opencode

import (
	"testing"

	"dragoman/internal/lane"
	"dragoman/internal/lane/lanetest"
	"dragoman/wire/acp"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

// FuzzEvent feeds events into a session that has none of its own: whatever
// they are, they are kept or told.
func FuzzEvent(f *testing.F) {
	for _, events := range recordings(f) {
		for i := 0; i < len(events); i += 9 {
			f.Add(events[i])
		}
	}
	for _, e := range []string{
		`{"type":"message.part.updated"}`, `{"type":"permission.asked","properties":{"sessionID":"ses_1","id":"../x"}}`,
		`{"type":"a.future.kind","properties":{"sessionID":"ses_1"}}`, `{"type":"session.error","properties":{"sessionID":"ses_1"}}`, `{}`,
	} {
		f.Add(e)
	}
	f.Fuzz(func(t *testing.T, text string) {
		record := acp.AsObject([]byte(text))
		if record == nil || !valid(text) {
			return
		}
		sink := lanetest.NewSink()
		c := newConn(&plan{spec: &agent.Spec{}}, lane.Launch{Sink: sink}, nil)
		c.native, c.ending = sessionID, true
		c.session.Handle(func() { c.handle(record) })
		c.session.Part(t.Context())
		c.session.Sever()
		c.session.Wait()
		c.stop()
	})
}

func valid(text string) bool {
	var s ndjson.Scanner
	return s.Scan([]byte(text)) == nil
}
