package text

import "slices"

// Node sizes: each array takes 1 KiB, a size class of the allocator.
const (
	maxPieces = 32
	maxKids   = 21
)

// A piece is data[off:off+n] of a chunk, with its counts. It starts and ends
// between characters.
type piece struct {
	c      *chunk
	off, n uint32
	counts counts
}

func makePiece(c *chunk, off, n uint32) piece {
	return piece{c: c, off: off, n: n, counts: c.count(off, off+n)}
}

// split cuts p after k bytes.
func (p piece) split(k uint32) (piece, piece) {
	left := piece{c: p.c, off: p.off, n: k}
	right := piece{c: p.c, off: p.off + k, n: p.n - k}
	if k <= right.n {
		left.counts = p.c.count(left.off, left.off+k)
		right.counts = p.counts.minus(left.counts)
	} else {
		right.counts = p.c.count(right.off, right.off+right.n)
		left.counts = p.counts.minus(right.counts)
	}
	return left, right
}

// joins reports whether q continues p, so that both can be one piece.
func (p piece) joins(q piece) bool {
	return p.c == q.c && p.off+p.n == q.off && (p.c.marks != nil || p.n+q.n <= plainMax)
}

// A link is a child with the metrics of all that is below it.
type link struct {
	n *node
	m Metrics
}

// An owner marks the nodes that one tree may change in place. A snapshot ends
// an ownership: the tree goes on with a new one.
type owner struct{ _ byte }

// A node is a leaf (kids nil) or an inner node (pieces nil). It may be changed
// in place only by the tree whose owner it bears; nil is nobody's.
type node struct {
	own    *owner
	kids   []link
	pieces []piece
}

func (n *node) size() int { return len(n.kids) + len(n.pieces) }

func (n *node) limit() int {
	if n.kids != nil {
		return maxKids
	}
	return maxPieces
}

func (n *node) metrics() Metrics {
	var m Metrics
	for i := range n.kids {
		m.add(n.kids[i].m)
	}
	for i := range n.pieces {
		m.addCounts(n.pieces[i].n, n.pieces[i].counts)
	}
	return m
}

// tree is a text under change: the nodes that bear its owner are its own, all
// others are shared with snapshots.
type tree struct {
	root link
	own  *owner
	// removed collects the pieces that an edit takes out, if wanted.
	scratch []piece
	removed []piece
}

// nodes is what replaces one child: none, one, or several of its height.
type nodes struct {
	one  link
	more []link
	n    int
}

// replace puts ins in place of [start,end). Both are between characters.
// The pieces taken out are in t.removed until the next call.
func (t *tree) replace(start, end int, ins []piece) {
	t.removed = t.removed[:0]
	got := t.splice(t.root, start, end, ins)
	for got.n > 1 {
		got = t.spread(got.more)
	}
	if got.n == 0 {
		t.root = link{n: t.newLeaf(nil)}
		return
	}
	t.root = got.one
	for len(t.root.n.kids) == 1 {
		t.root = t.root.n.kids[0]
	}
}

func (t *tree) splice(l link, start, end int, ins []piece) nodes {
	if l.n.kids == nil {
		return t.spliceLeaf(l, start, end, ins)
	}
	return t.spliceInner(l, start, end, ins)
}

// insert puts p at an offset of leaf l in place: what most edits do. It reports
// whether it could: the leaf is ours and has room.
func (t *tree) insert(l link, at int, p piece) (link, bool) {
	n := l.n
	if n.own != t.own || len(n.pieces) == 0 || len(n.pieces)+2 > maxPieces {
		return l, false
	}
	i := 0
	for at > int(n.pieces[i].n) {
		at -= int(n.pieces[i].n)
		i++
	}
	l.m.addCounts(p.n, p.counts)
	old := &n.pieces[i]
	switch {
	case at == 0:
		n.pieces = slices.Insert(n.pieces, i, p)
	case at < int(old.n):
		left, right := old.split(uint32(at))
		n.pieces = slices.Insert(n.pieces, i+1, p, right)
		n.pieces[i] = left
	case old.joins(p):
		old.n += p.n
		old.counts = old.counts.plus(p.counts)
	default:
		n.pieces = slices.Insert(n.pieces, i+1, p)
	}
	return l, true
}

func (t *tree) spliceLeaf(l link, start, end int, ins []piece) nodes {
	if start == end && len(ins) == 1 {
		if l, ok := t.insert(l, start, ins[0]); ok {
			return nodes{one: l, n: 1}
		}
	}
	out := t.scratch[:0]
	at, placed := 0, false
	for _, p := range l.n.pieces {
		pStart, pEnd := at, at+int(p.n)
		at = pEnd
		if pEnd <= start || placed && pStart >= end {
			out = appendPiece(out, p)
			continue
		}
		if pStart < start {
			left, right := p.split(uint32(start - pStart))
			out = appendPiece(out, left)
			p, pStart = right, start
		}
		if !placed {
			out = appendPieces(out, ins)
			placed = true
		}
		if pStart >= end {
			out = appendPiece(out, p)
			continue
		}
		if pEnd > end {
			gone, right := p.split(uint32(end - pStart))
			t.removed = append(t.removed, gone)
			out = appendPiece(out, right)
			continue
		}
		t.removed = append(t.removed, p)
	}
	if !placed {
		out = appendPieces(out, ins)
	}
	t.scratch = out
	if len(out) <= maxPieces {
		return t.refill(l.n, out)
	}
	defer clear(t.scratch)
	return t.spreadPieces(l.n, out)
}

// refill gives leaf n the content ps, in place if the leaf is ours.
func (t *tree) refill(n *node, ps []piece) nodes {
	if len(ps) == 0 {
		return nodes{}
	}
	n = t.withPieces(n, ps)
	return nodes{one: link{n, n.metrics()}, n: 1}
}

// withPieces is n with the content ps, or a new leaf if n isn't ours.
func (t *tree) withPieces(n *node, ps []piece) *node {
	if n.own != t.own {
		return t.newLeaf(ps)
	}
	old := len(n.pieces)
	n.pieces = append(n.pieces[:0], ps...)
	if old > len(ps) {
		clear(n.pieces[len(ps):old])
	}
	return n
}

func appendPieces(out, ins []piece) []piece {
	for _, p := range ins {
		out = appendPiece(out, p)
	}
	return out
}

// appendPiece appends p, as part of the last piece where it continues that.
func appendPiece(out []piece, p piece) []piece {
	if p.n == 0 {
		return out
	}
	if k := len(out) - 1; k >= 0 && out[k].joins(p) {
		out[k].n += p.n
		out[k].counts = out[k].counts.plus(p.counts)
		return out
	}
	return append(out, p)
}

func (t *tree) newLeaf(ps []piece) *node {
	n := &node{own: t.own, pieces: make([]piece, len(ps), maxPieces)}
	copy(n.pieces, ps)
	return n
}

func (t *tree) newInner(ks []link) *node {
	n := &node{own: t.own, kids: make([]link, len(ks), maxKids)}
	copy(n.kids, ks)
	return n
}

// spreadPieces makes leaves of ps, which one leaf can't hold. n, whose content
// it was, becomes one of them if it is ours.
func (t *tree) spreadPieces(n *node, ps []piece) nodes {
	count := (len(ps)-1)/(maxPieces*3/4) + 1
	more := make([]link, 0, count)
	for i := range count {
		part := ps[i*len(ps)/count : (i+1)*len(ps)/count]
		if i == 0 {
			n = t.withPieces(n, part)
		} else {
			n = t.newLeaf(part)
		}
		more = append(more, link{n, n.metrics()})
	}
	return nodes{more: more, n: len(more)}
}

// spread makes inner nodes of ks: one if they fit.
func (t *tree) spread(ks []link) nodes {
	if len(ks) <= maxKids {
		n := t.newInner(ks)
		return nodes{one: link{n, n.metrics()}, n: 1}
	}
	count := (len(ks)-1)/(maxKids*3/4) + 1
	more := make([]link, 0, count)
	for i := range count {
		n := t.newInner(ks[i*len(ks)/count : (i+1)*len(ks)/count])
		more = append(more, link{n, n.metrics()})
	}
	return nodes{more: more, n: len(more)}
}

func (t *tree) spliceInner(l link, start, end int, ins []piece) nodes {
	kids := l.n.kids
	i, at := 0, 0
	for i < len(kids)-1 && at+kids[i].m.Bytes < start {
		at += kids[i].m.Bytes
		i++
	}
	if end <= at+kids[i].m.Bytes {
		return t.replaceKids(l, i, i, t.splice(kids[i], start-at, end-at, ins), nodes{})
	}
	first := t.splice(kids[i], start-at, kids[i].m.Bytes, ins)
	j := i + 1
	at += kids[i].m.Bytes
	for at+kids[j].m.Bytes < end {
		t.collect(kids[j].n)
		at += kids[j].m.Bytes
		j++
	}
	return t.replaceKids(l, i, j, first, t.splice(kids[j], 0, end-at, nil))
}

// collect appends every piece below n to t.removed.
func (t *tree) collect(n *node) {
	t.removed = append(t.removed, n.pieces...)
	for i := range n.kids {
		t.collect(n.kids[i].n)
	}
}

// replaceKids puts a and b in place of the children i to j of l.
func (t *tree) replaceKids(l link, i, j int, a, b nodes) nodes {
	if i == j && a.n == 1 && a.one.n.size() >= a.one.n.limit()/4 {
		n := l.n
		if n.own != t.own {
			n = t.newInner(n.kids)
		}
		m := l.m
		m.sub(n.kids[i].m)
		m.add(a.one.m)
		n.kids[i] = a.one
		return nodes{one: link{n, m}, n: 1}
	}
	list := append(make([]link, 0, len(l.n.kids)+a.n+b.n), l.n.kids[:i]...)
	list = a.appendTo(list)
	list = b.appendTo(list)
	list = append(list, l.n.kids[j+1:]...)
	list = t.mergeSmall(list, max(i-1, 0), i+2)
	if len(list) == 0 {
		return nodes{}
	}
	return t.spread(list)
}

func (ns nodes) appendTo(list []link) []link {
	if ns.n == 1 {
		return append(list, ns.one)
	}
	return append(list, ns.more...)
}

// mergeSmall joins neighbours among list[from:to] of which one is nearly empty.
func (t *tree) mergeSmall(list []link, from, to int) []link {
	for k := from; k < to && k+1 < len(list); {
		a, b := list[k].n, list[k+1].n
		small := min(a.size(), b.size()) < a.limit()/4
		if !small || a.size()+b.size() > a.limit()*3/4 {
			k++
			continue
		}
		list[k] = t.concat(list[k], list[k+1])
		list = append(list[:k+1], list[k+2:]...)
	}
	return list
}

func (t *tree) concat(a, b link) link {
	var n *node
	if a.n.kids == nil {
		n = t.newLeaf(nil)
		n.pieces = appendPieces(append(n.pieces, a.n.pieces...), b.n.pieces)
	} else {
		n = t.newInner(a.n.kids)
		n.kids = append(n.kids, b.n.kids...)
	}
	m := a.m
	m.add(b.m)
	return link{n, m}
}

func (m *Metrics) sub(o Metrics) {
	m.Bytes -= o.Bytes
	m.Lines -= o.Lines
	m.CRLF -= o.CRLF
	m.continuation -= o.continuation
	m.supplementary -= o.supplementary
}
