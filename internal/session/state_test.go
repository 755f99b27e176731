package session

import "testing"

// TestStateTable has a row for each edge out of each state.
func TestStateTable(t *testing.T) {
	want := map[State][edgeCount]State{
		//        opened, lost,   started, settled, closing, closed
		Opening: {Idle, Failed, Opening, Opening, Closing, Opening},
		Idle:    {Idle, Failed, Running, Idle, Closing, Idle},
		Running: {Running, Failed, Running, Idle, Closing, Running},
		Closing: {Closing, Closing, Closing, Closing, Closing, Closed},
		Closed:  {Closed, Closed, Closed, Closed, Closed, Closed},
		Failed:  {Failed, Failed, Failed, Failed, Closing, Failed},
	}
	if len(want) != len(stateNames) {
		t.Fatalf("%d states in the table, want %d", len(want), len(stateNames))
	}
	for from, row := range want {
		for e, to := range row {
			if got := from.next(edge(e)); got != to {
				t.Errorf("%v on edge %d: got %v, want %v", from, e, got, to)
			}
		}
	}
}
