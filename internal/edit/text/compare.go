package text

import (
	"bytes"
	"runtime"
)

// Equal reports whether a and b hold the same bytes, line ends included. What
// both share is skipped, so comparing a text with one it came from costs
// about what was changed.
func Equal(a, b Text) bool {
	if a.root.n == b.root.n {
		return true
	}
	if a.root.m != b.root.m {
		return false
	}
	x, y := newCursor(a), newCursor(b)
	for {
		n, m := x.node(), y.node()
		switch {
		case n != nil && n == m:
			x.skip()
			y.skip()
		case n != nil:
			x.enter()
		case m != nil:
			y.enter()
		case x.done() || y.done():
			return x.done() && y.done()
		case !x.match(y):
			return false
		}
	}
}

// A cursor walks a tree, by whole nodes where it can.
type cursor struct {
	stack []frame
	p     piece
}

type frame struct {
	n *node
	i int
}

func newCursor(t Text) *cursor {
	c := &cursor{}
	if t.root.n != nil {
		c.stack = append(c.stack, frame{&node{kids: []link{t.root}}, 0})
	}
	c.settle()
	return c
}

// settle leaves finished nodes and loads the next piece where the top is a leaf.
func (c *cursor) settle() {
	for len(c.stack) > 0 {
		top := &c.stack[len(c.stack)-1]
		if top.i < top.n.size() {
			if top.n.kids == nil {
				c.p = top.n.pieces[top.i]
			}
			return
		}
		c.stack = c.stack[:len(c.stack)-1]
		if len(c.stack) > 0 {
			c.stack[len(c.stack)-1].i++
		}
	}
}

func (c *cursor) done() bool { return len(c.stack) == 0 }

// node is the node that comes next as a whole, or nil.
func (c *cursor) node() *node {
	if c.done() {
		return nil
	}
	top := c.stack[len(c.stack)-1]
	if top.n.kids == nil {
		return nil
	}
	return top.n.kids[top.i].n
}

func (c *cursor) skip() {
	c.stack[len(c.stack)-1].i++
	c.settle()
}

func (c *cursor) enter() {
	c.stack = append(c.stack, frame{c.node(), 0})
	c.settle()
}

// match compares what both pieces have in common and goes past it.
func (c *cursor) match(d *cursor) bool {
	n := min(c.p.n, d.p.n)
	if c.p.c != d.p.c || c.p.off != d.p.off {
		same := bytes.Equal(c.p.c.data[c.p.off:c.p.off+n], d.p.c.data[d.p.off:d.p.off+n])
		runtime.KeepAlive(c.p.c)
		runtime.KeepAlive(d.p.c)
		if !same {
			return false
		}
	}
	c.advance(n)
	d.advance(n)
	return true
}

func (c *cursor) advance(n uint32) {
	c.p.off += n
	c.p.n -= n
	if c.p.n == 0 {
		c.skip()
	}
}
