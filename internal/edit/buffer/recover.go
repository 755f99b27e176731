package buffer

import (
	"errors"

	"dragoman/internal/edit/charset"
	"dragoman/internal/edit/diff"
	"dragoman/internal/edit/recovery"
	"dragoman/internal/edit/text"
)

// Recoveries lists the unsaved edits that earlier cores left
// (buffer.recoveries).
func (s *Set) Recoveries() ([]recovery.Item, error) {
	items, err := s.logs.List()
	if err != nil {
		return nil, diskError("recovery logs", err)
	}
	return items, nil
}

// Recover brings unsaved edits back into a buffer as one undo step
// (buffer.recover). If the file isn't the one that they were made on, they are
// merged with it; where that fails, the unsaved text wins.
func (s *Set) Recover(id ID, o Origin) (Info, error) {
	b, err := s.get(id)
	if err != nil {
		return Info{}, err
	}
	b.mu.Lock()
	offer := b.recovery
	b.mu.Unlock()
	if offer == nil {
		return Info{}, fail(NotFound, "nothing of %s is to be recovered", b.id)
	}
	base, mine, err := s.replay(b, offer)
	if err != nil {
		return Info{}, err
	}
	err = b.transact(nil, func(m moment) ([]text.Edit, commit, error) {
		edits, ok := diff.Merge3(base.Text, m.text, mine)
		if !ok || base.Kept {
			edits = diff.Edits(m.text, mine)
		}
		return edits, commit{origin: o.because("recover"), exact: true, settle: func() { b.recovery = nil }}, nil
	})
	if err != nil {
		return Info{}, err
	}
	// The recovered edits are in this buffer's own log now, synced before the
	// old one goes.
	if err := s.logs.Sync(); err != nil {
		return Info{}, diskError("recovery log", err)
	}
	if err := s.Forget(offer.ID); err != nil {
		return Info{}, err
	}
	return s.Get(id)
}

// replay gives the text that a log's edits were made on and the one they led
// to.
func (s *Set) replay(b *Buffer, offer *RecoveryInfo) (base recovery.Content, mine text.Text, err error) {
	base, err = s.logs.Content(offer.ID)
	if err == nil && !base.OK {
		if offer.BaseChanged {
			e := conflict(ReasonDiskChanged, "the file that the edits of %s were made on is gone", b.id)
			e.Disk = s.diskNow(b.path)
			return base, mine, e
		}
		b.mu.Lock()
		base.Text = b.store.Saved()
		b.mu.Unlock()
	}
	if err == nil {
		mine, err = s.logs.Replay(offer.ID, base.Text)
	}
	if errors.Is(err, recovery.ErrNotFound) {
		return base, mine, fail(NotFound, "recovery log %s isn't there", offer.ID)
	}
	return base, mine, diskError("recovery log", err)
}

// RecoverScratch opens what an earlier core left of a buffer without a path.
func (s *Set) RecoverScratch(logID, client string) (Info, error) {
	it, err := s.logs.Item(logID)
	if err != nil {
		return Info{}, fail(NotFound, "recovery log %s isn't there", logID)
	}
	if it.Path != "" {
		return Info{}, badRequest("id", "path", "log %s belongs to %s: open that", logID, it.Path)
	}
	b := &Buffer{name: it.Name, preferred: LF, format: charset.Format{Encoding: it.Encoding, BOM: it.BOM}}
	b.savedFormat = b.format
	_, mine, err := s.replay(b, &RecoveryInfo{ID: logID, BaseChanged: true})
	if err != nil {
		return Info{}, err
	}
	b.store = text.NewStore(text.Text{}, s.undoBytes)
	s.mu.Lock()
	info := s.addLocked(b, client)
	s.mu.Unlock()
	if _, err := s.Write(WriteParams{Buffer: info.Buffer, Text: mine, Origin: Origin{Kind: "core", Certainty: "exact"}}); err != nil {
		return Info{}, err
	}
	if err := errors.Join(s.logs.Sync(), s.logs.Forget(logID)); err != nil {
		return Info{}, diskError("recovery log", err)
	}
	return s.Get(info.Buffer)
}

// Forget removes unsaved edits that an earlier core left (buffer.forget).
func (s *Set) Forget(logID string) error {
	err := s.logs.Forget(logID)
	if errors.Is(err, recovery.ErrNotFound) {
		return fail(NotFound, "recovery log %s isn't there", logID)
	}
	if err != nil {
		return diskError("recovery log", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, it := range s.left {
		if it.ID == logID {
			delete(s.left, path)
		}
	}
	for _, b := range s.buffers {
		b.mu.Lock()
		if b.recovery != nil && b.recovery.ID == logID {
			b.updateLocked(func() { b.recovery = nil })
		}
		b.mu.Unlock()
	}
	return nil
}
