package proc

import "os"

// A mark is inherited by all descendants of a start. macOS has no limit that
// could carry one.
type mark uint64

func newMark(uint32, uint64) mark { return 0 }
func newInstance() uint32         { return uint32(os.Getpid()) }
func markOf(int) mark             { return 0 }

func (m mark) valid() bool                 { return false }
func (m mark) foreign() bool               { return false }
func (m mark) instance() uint32            { return 0 }
func (m mark) of(uint32) bool              { return false }
func (m mark) put() (undo func(), ok bool) { return func() {}, false }
