package envelope

// A ring remembers the last n different strings that were added.
type ring struct {
	slots []string
	next  int
	set   map[string]struct{}
}

func newRing(n int) ring {
	return ring{slots: make([]string, 0, n), set: make(map[string]struct{})}
}

func (r *ring) has(s string) bool {
	_, ok := r.set[s]
	return ok
}

func (r *ring) add(s string) {
	if r.has(s) {
		return
	}
	if len(r.slots) < cap(r.slots) {
		r.slots = append(r.slots, s)
	} else {
		delete(r.set, r.slots[r.next])
		r.slots[r.next] = s
		r.next = (r.next + 1) % len(r.slots)
	}
	r.set[s] = struct{}{}
}
