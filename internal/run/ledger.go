package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"dragoman/internal/flock"
)

// blockSize is how many ids a core takes from the state folder at once: ids
// of a block that aren't used when it ends are never used.
const blockSize = 64

// A ledger keeps ids apart and remembers open runs over the core's death:
// an append-only file, locked for the core's life. Writes aren't synced: they
// survive a killed process, and after a power cut no client is left that
// waits for a run.
type ledger struct {
	dir         string
	file        *os.File
	next, limit int64
}

// entry is one line: a run that began or, with Ended, its end.
type entry struct {
	Run    string `json:"run"`
	Op     string `json:"op,omitzero"`
	Client string `json:"client,omitzero"`
	// At is when it began.
	At    time.Time `json:"at,omitzero"`
	Ended bool      `json:"ended,omitzero"`
}

// openLedger makes this core's ledger in dir and returns the runs that dead
// cores of the same name left open. An empty dir keeps everything in memory.
func openLedger(dir, name string) (*ledger, []entry, error) {
	l := &ledger{dir: dir}
	if dir == "" {
		return l, nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	left, err := takeLedgers(dir, name)
	if err != nil {
		return nil, nil, err
	}
	for n := 1; ; n++ {
		l.file, err = flock.Open(filepath.Join(dir, fmt.Sprintf("%s-%d.log", name, n)))
		if err == nil {
			// A dead core's ledger can't be here: takeLedgers took them all, or
			// its name is free again.
			return l, left, l.file.Truncate(0)
		}
		if !errors.Is(err, flock.ErrLocked) {
			return nil, nil, err
		}
	}
}

// takeLedgers reads and removes the ledgers that no living core holds.
func takeLedgers(dir, name string) ([]entry, error) {
	paths, err := filepath.Glob(filepath.Join(dir, name+"-*.log"))
	if err != nil {
		return nil, err
	}
	var left []entry
	for _, p := range paths {
		f, err := flock.Open(p)
		if errors.Is(err, flock.ErrLocked) {
			continue
		}
		if err != nil {
			return nil, err
		}
		left = append(left, openRuns(f)...)
		err = os.Remove(p)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// openRuns lists the runs of a ledger that have no end. A torn last line is
// a run whose id no client ever saw.
func openRuns(r io.Reader) []entry {
	var order []string
	open := map[string]entry{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if e.Ended {
			delete(open, e.Run)
			continue
		}
		open[e.Run] = e
		order = append(order, e.Run)
	}
	var left []entry
	for _, id := range order {
		if e, ok := open[id]; ok {
			left = append(left, e)
		}
	}
	return left
}

// newID returns an id that the state folder never saw.
func (l *ledger) newID() (string, error) {
	if l.next == l.limit {
		if err := l.takeBlock(); err != nil {
			return "", err
		}
	}
	l.next++
	return "r" + strconv.FormatInt(l.next, 10), nil
}

func (l *ledger) takeBlock() error {
	if l.dir == "" {
		l.limit += blockSize
		return nil
	}
	f, err := flock.OpenWait(filepath.Join(l.dir, "next"))
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	used := int64(0)
	if s := strings.TrimSpace(string(raw)); s != "" {
		if used, err = strconv.ParseInt(s, 10, 64); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	// A fixed width, so that a torn write can't make the number smaller.
	if _, err := f.WriteAt(fmt.Appendf(nil, "%019d\n", used+blockSize), 0); err != nil {
		return err
	}
	l.next, l.limit = used, used+blockSize
	return f.Sync()
}

func (l *ledger) append(e entry) error {
	if l.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

// compact empties the ledger when no run is open.
func (l *ledger) compact() {
	if l.file == nil {
		return
	}
	if info, err := l.file.Stat(); err != nil || info.Size() < 1<<20 {
		return
	}
	if l.file.Truncate(0) == nil {
		_, _ = l.file.Seek(0, io.SeekStart)
	}
}

func (l *ledger) close() error {
	if l.file == nil {
		return nil
	}
	err := os.Remove(l.file.Name())
	return errors.Join(err, l.file.Close())
}
