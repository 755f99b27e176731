package buffer

import (
	"dragoman/internal/edit/recovery"
	"dragoman/internal/edit/text"
)

// logLocked adds edits of the text as it is now to the recovery log.
func (b *Buffer) logLocked(edits []text.Edit) {
	if b.log == nil && len(edits) > 0 {
		b.beginLogLocked(b.store.Snapshot())
	}
	b.appendLogLocked(edits)
}

// logSinceLocked is logLocked for edits of old that were done already.
func (b *Buffer) logSinceLocked(old text.Text, edits []text.Edit) {
	if b.log == nil && len(edits) > 0 {
		b.beginLogLocked(old)
	}
	b.appendLogLocked(edits)
}

func (b *Buffer) appendLogLocked(edits []text.Edit) {
	for i := len(edits) - 1; i >= 0; i-- {
		b.log.Edit(edits[i])
	}
}

// beginLogLocked starts a log of edits to t. Only if t is what the file holds
// can the log do without the text.
func (b *Buffer) beginLogLocked(t text.Text) {
	h := recovery.Header{Path: b.path, Name: b.name, Encoding: b.format.Encoding, BOM: b.format.BOM}
	if b.base != nil && text.Equal(t, b.store.Saved()) {
		h.Hash, h.Size, h.Mtime = b.base.hash, b.base.stat.Size, b.base.stat.Mtime
	}
	b.log = b.set.logs.Begin(h, t)
}

// dropLogLocked removes the log: its edits are saved or given up.
func (b *Buffer) dropLogLocked() {
	if b.log != nil {
		b.log.Drop()
		b.log = nil
	}
}
