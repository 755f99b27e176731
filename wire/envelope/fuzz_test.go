package envelope_test

import (
	"bytes"
	"fmt"
	"testing"

	"dragoman/wire/envelope"
)

// Whatever a line holds, the decoder gives an envelope that can be written
// again, or one error within the line.
func FuzzDecode(f *testing.F) {
	for _, line := range validFixtures(f) {
		f.Add(line)
	}
	for _, fixture := range invalidFixtures(f) {
		if line := fixture.line(f); len(line) < 4096 {
			f.Add(line)
		}
	}
	d := envelope.NewDecoder(envelope.Limits{})
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := d.Decode(line)
		if err != nil {
			wrong, ok := err.(*envelope.Error)
			if !ok || wrong.Code == "" || wrong.Offset < 0 || wrong.Offset > len(line) {
				t.Fatalf("error %#v", err)
			}
			return
		}
		again, err := envelope.NewDecoder(envelope.Limits{}).Decode(envelope.Append(nil, e))
		if err != nil {
			t.Fatalf("written again: %v", err)
		}
		if again.Kind != e.Kind || !bytes.Equal(again.Input, e.Input) {
			t.Fatalf("got %+v, want %+v", again, e)
		}
	})
}

// Whatever lines come, a session says what to do for each, and holds no more
// requests than its limit.
func FuzzSession(f *testing.F) {
	for _, kinds := range [][]string{{"hello", "request"}, {"hello", "event"}, {"hello", "cancel"}, {"hello", "error"}} {
		stream := bytes.Join(shortest(validFixtures(f), kinds), []byte("\n"))
		f.Add(stream, true)
		f.Add(stream, false)
	}
	f.Fuzz(func(t *testing.T, stream []byte, host bool) {
		side := envelope.AgentSide
		if host {
			side = envelope.HostSide
		}
		const inFlight = 4
		s := envelope.NewSession(side, []string{"a", "o", "echo.text"}, envelope.Limits{InFlight: inFlight})
		d := envelope.NewDecoder(envelope.Limits{})
		for _, line := range bytes.Split(stream, []byte("\n")) {
			e, err := d.Decode(line)
			if err != nil {
				continue
			}
			do, wrong := s.Receive(e)
			if (wrong != nil) != do.Has(envelope.Violation) {
				t.Fatalf("%b with error %v", do, wrong)
			}
			if do.Has(envelope.Deliver) && e.Kind == envelope.Request && e.MessageID[0] < 'a' {
				if _, err := s.Send(&envelope.Envelope{Kind: envelope.Event, RequestID: e.RequestID, Event: envelope.EventCompleted}); err != nil {
					t.Fatal(err)
				}
			}
			if s.InFlight() > inFlight {
				t.Fatalf("%d requests run", s.InFlight())
			}
		}
	})
}

// shortest picks the shortest line of each kind, for a seed that mutates well.
func shortest(lines [][]byte, kinds []string) (picked [][]byte) {
	for i, kind := range kinds {
		var best []byte
		for _, line := range lines {
			if bytes.Contains(line, []byte(`"kind":"`+kind+`"`)) && (best == nil || len(line) < len(best)) {
				best = line
			}
		}
		picked = append(picked, bytes.Replace(best, []byte(`"m1"`), fmt.Appendf(nil, `"m%d"`, i), 1))
	}
	return picked
}
