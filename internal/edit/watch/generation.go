package watch

import "context"

// Generation gives a number that differs whenever something in a folder, at
// any depth, was changed since an earlier call: events count as they come,
// before anybody is told. False: the folder isn't watched whole by a root's
// own watching, or is only looked at by the clock.
func (w *Watcher) Generation(ctx context.Context, folder string) (n uint64, ok bool) {
	err := w.do(ctx, func() {
		w.drain()
		if w.polling {
			return
		}
		for _, b := range w.branches {
			if _, inside := b.rel(folder); inside && b.id == "" && isReady(b) {
				n, ok = b.moves, true
				return
			}
		}
	})
	return n, ok && err == nil
}

func isReady(b *branch) bool {
	select {
	case <-b.ready:
		return true
	default:
		return false
	}
}

// drain takes the events that are there.
func (w *Watcher) drain() {
	for {
		select {
		case e := <-w.notify.Events():
			w.event(e)
		case err := <-w.notify.Errors():
			w.failed(err)
		default:
			return
		}
	}
}

// moved counts a change in the branches that hold a path.
func (w *Watcher) moved(path string) {
	for _, b := range w.branches {
		if _, inside := b.rel(path); inside {
			b.moves++
		}
	}
}
