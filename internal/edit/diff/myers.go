package diff

// A Change says that the lines [OldStart,OldEnd) became [NewStart,NewEnd).
// Either side may be empty.
type Change struct {
	OldStart, OldEnd, NewStart, NewEnd int
}

// costMin is the number of steps that a search for the middle always may take
// before it settles for a good split.
const costMin = 512

// pair is one line that both have.
type pair struct{ a, b int }

// sequences gives the changes between two rows of line numbers, where equal
// lines have equal numbers.
func sequences(a, b []int) []Change {
	left, ai := onlyShared(a, b)
	right, bi := onlyShared(b, a)
	m := &myers{a: left, b: right}
	size := 2*(len(left)+len(right)) + 4
	m.forward, m.backward = make([]int, size), make([]int, size)
	m.walk(0, len(left), 0, len(right))
	var out []Change
	x, y := 0, 0
	for _, p := range append(m.pairs, pair{-1, -1}) {
		i, j := len(a), len(b)
		if p.a >= 0 {
			i, j = ai[p.a], bi[p.b]
		}
		if x < i || y < j {
			out = append(out, Change{x, i, y, j})
		}
		x, y = i+1, j+1
	}
	return out
}

// onlyShared leaves out what b doesn't have, and tells where the rest stood.
func onlyShared(a, b []int) (kept, index []int) {
	in := make(map[int]bool, len(b))
	for _, x := range b {
		in[x] = true
	}
	for i, x := range a {
		if in[x] {
			kept, index = append(kept, x), append(index, i)
		}
	}
	return kept, index
}

// myers finds common lines by the middle of the shortest way, in linear space.
type myers struct {
	a, b              []int
	forward, backward []int
	pairs             []pair
}

// walk appends the pairs of a[a0:a1] and b[b0:b1] in order.
func (m *myers) walk(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && m.a[a0] == m.b[b0] {
		m.pairs = append(m.pairs, pair{a0, b0})
		a0, b0 = a0+1, b0+1
	}
	tail := 0
	for a0 < a1 && b0 < b1 && m.a[a1-1] == m.b[b1-1] {
		a1, b1 = a1-1, b1-1
		tail++
	}
	if a0 < a1 && b0 < b1 {
		x, y := m.middle(a0, a1, b0, b1)
		m.walk(a0, x, b0, y)
		m.walk(x, a1, y, b1)
	}
	for i := range tail {
		m.pairs = append(m.pairs, pair{a1 + i, b1 + i})
	}
}

// middle gives a point on a shortest way from (a0,b0) to (a1,b1), or, when
// that takes too many steps, on a good one. It isn't one of the two corners.
func (m *myers) middle(a0, a1, b0, b1 int) (int, int) {
	n, k := a1-a0, b1-b0
	delta, odd := n-k, (n-k)&1 != 0
	zero := len(m.forward) / 2
	f, r := m.forward, m.backward
	f[zero+1], r[zero+1] = 0, 0
	limit := max(costMin, 4*isqrt(n+k))
	for d := 0; ; d++ {
		for i := -d; i <= d; i += 2 {
			x := reach(f, zero, i, d)
			y := x - i
			for x < n && y < k && x >= 0 && y >= 0 && m.a[a0+x] == m.b[b0+y] {
				x, y = x+1, y+1
			}
			f[zero+i] = x
			if j := delta - i; odd && j >= -(d-1) && j <= d-1 && x+r[zero+j] >= n {
				return m.inside(a0+x, b0+y, a0, a1, b0, b1)
			}
		}
		for i := -d; i <= d; i += 2 {
			x := reach(r, zero, i, d)
			y := x - i
			for x < n && y < k && x >= 0 && y >= 0 && m.a[a1-1-x] == m.b[b1-1-y] {
				x, y = x+1, y+1
			}
			r[zero+i] = x
			if j := delta - i; !odd && j >= -d && j <= d && x+f[zero+j] >= n {
				return m.inside(a1-x, b1-y, a0, a1, b0, b1)
			}
		}
		if d >= limit {
			return m.furthest(d, a0, a1, b0, b1)
		}
	}
}

// reach is the furthest x on diagonal i that a step from the neighbours gives.
func reach(v []int, zero, i, d int) int {
	if i == -d || i != d && v[zero+i-1] < v[zero+i+1] {
		return v[zero+i+1]
	}
	return v[zero+i-1] + 1
}

// furthest gives the point of the forward ways that has come furthest.
func (m *myers) furthest(d, a0, a1, b0, b1 int) (int, int) {
	n, k := a1-a0, b1-b0
	zero, best, bx, by := len(m.forward)/2, -1, 0, 0
	for i := -d; i <= d; i += 2 {
		x := min(m.forward[zero+i], n)
		y := x - i
		if y < 0 || y > k {
			continue
		}
		if x+y > best {
			best, bx, by = x+y, x, y
		}
	}
	return m.inside(a0+bx, b0+by, a0, a1, b0, b1)
}

// inside keeps a split from being a corner, which would never end.
func (m *myers) inside(x, y, a0, a1, b0, b1 int) (int, int) {
	x, y = min(max(x, a0), a1), min(max(y, b0), b1)
	if x == a0 && y == b0 || x == a1 && y == b1 {
		return a0 + (a1-a0+1)/2, b0 + (b1-b0)/2
	}
	return x, y
}

func isqrt(n int) int {
	x := 1
	for x*x < n {
		x++
	}
	return x
}
