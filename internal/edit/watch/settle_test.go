package watch

import (
	"context"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/edit/file"
)

// disk is a file whose states tests set.
type disk struct {
	mu    sync.Mutex
	stat  file.Stat
	err   error
	looks []time.Duration
	start time.Time
}

func (d *disk) set(size int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stat, d.err = file.Stat{Size: size, Mtime: time.Now()}, err
}

func (d *disk) settler() *Settler {
	d.start = time.Now()
	return &Settler{
		Stat: func(string) (file.Stat, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.stat, d.err
		},
		Look: func(context.Context, string, any) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.looks = append(d.looks, time.Since(d.start))
		},
	}
}

func TestSettling(t *testing.T) {
	type step struct {
		after time.Duration
		size  int64
		err   error
	}
	for name, c := range map[string]struct {
		steps []step
		want  []time.Duration
	}{
		"still":             {[]step{{0, 5, nil}}, []time.Duration{QuietFor}},
		"more events":       {[]step{{0, 5, nil}, {30 * time.Millisecond, 6, nil}}, []time.Duration{80 * time.Millisecond}},
		"gone for a moment": {[]step{{0, 0, fs.ErrNotExist}, {200 * time.Millisecond, 5, nil}}, []time.Duration{250 * time.Millisecond}},
		"gone for good":     {[]step{{0, 0, fs.ErrNotExist}}, []time.Duration{SettleLimit}},
		"empty":             {[]step{{0, 0, nil}}, []time.Duration{SettleLimit}},
		"two changes": {
			[]step{{0, 5, nil}, {300 * time.Millisecond, 6, nil}},
			[]time.Duration{QuietFor, 350 * time.Millisecond},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{}
				s := d.settler()
				defer s.Close()
				for _, st := range c.steps {
					time.Sleep(time.Until(d.start.Add(st.after)))
					d.set(st.size, st.err)
					s.Touch("f", nil)
				}
				if err := s.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				d.mu.Lock()
				defer d.mu.Unlock()
				if len(d.looks) != len(c.want) {
					t.Fatalf("looked at %v, want %v", d.looks, c.want)
				}
				for i := range c.want {
					if d.looks[i] != c.want[i] {
						t.Errorf("looked at %v, want %v", d.looks, c.want)
					}
				}
			})
		})
	}
}

// A file that never stands still is looked at after the limit, and again.
func TestAFileThatNeverStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		s := d.settler()
		for i := range 60 {
			d.set(int64(i+1), nil)
			s.Touch("f", nil)
			time.Sleep(20 * time.Millisecond)
		}
		s.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.looks) != 2 || d.looks[0] != SettleLimit {
			t.Errorf("looked at %v", d.looks)
		}
	})
}
