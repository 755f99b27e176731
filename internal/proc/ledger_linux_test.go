package proc

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killedInstance runs an instance whose child has all leavers, and kills it.
func killedInstance(t *testing.T, dir string) []int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperVar+"="+dir, "PROC_TEST_SCRIPT="+allLeavers()+"\nwait")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := pidsIn(t, dir, len(leavers))
	for _, pid := range pids {
		e, _ := readEntry(pid)
		t.Cleanup(func() { signalEntry(e, syscall.SIGKILL) }) // whatever the test has found
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, pid := range pids {
		if !alive(pid) {
			t.Errorf("%d died with its instance: the test shows nothing", pid)
		}
	}
	return pids
}

func TestNextInstanceEndsWhatAKilledOneLeft(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	living := supervisor(t, Options{StateDir: state})
	spared := start(t, living, shell("cat", ""))

	pids := killedInstance(t, dir)
	var log bytes.Buffer
	supervisor(t, Options{StateDir: state, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d is alive; log %s", pid, &log)
		}
	}
	if !strings.Contains(log.String(), "ended") {
		t.Errorf("log says nothing: %q", &log)
	}
	if isClosed(spared.Exited()) {
		t.Error("a living instance's child was ended")
	}
	end(t, spared)
	if names := ledgers(t, state); len(names) != 2 {
		t.Errorf("ledgers %v", names)
	}
}

func TestKilledInstanceInAnotherStateDirIsSpared(t *testing.T) {
	dir := t.TempDir()
	pids := killedInstance(t, dir)
	supervisor(t, Options{StateDir: t.TempDir()})
	for _, pid := range pids {
		if !alive(pid) {
			t.Errorf("%d was ended", pid)
		}
	}
	supervisor(t, Options{StateDir: filepath.Join(dir, "state")})
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d is alive", pid)
		}
	}
}

func ledgers(t *testing.T, state string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(state, ledgerFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A ledger of a dead instance that names a living process of ours: only pid,
// start time, boot and namespace together let it be ended.
func TestLedgerIsNeverTrustedByPidAlone(t *testing.T) {
	here, err := whereabouts()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		where       place
		startOff    uint64
		torn, ended bool
		killed      bool
		kept        bool
	}{
		"all is right":       {where: here, killed: true},
		"start time differs": {where: here, startOff: 1},
		"boot differs":       {where: place{"another", here.namespace}},
		"namespace differs":  {where: place{here.boot, "pid:[1]"}, kept: true},
		"leader has ended":   {where: here, ended: true},
		"line is torn":       {where: here, torn: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			victim := exec.Command("sleep", "1000")
			victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			defer victim.Wait()
			defer victim.Process.Kill()
			start, err := StartTime(victim.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf(ledgerHead, 0xabcdef01, 1, 1, tt.where.namespace, tt.where.boot)
			text += fmt.Sprintf("+ %d %d\n", victim.Process.Pid, start+tt.startOff)
			if tt.ended {
				text += fmt.Sprintf("- %d %d\n", victim.Process.Pid, start)
			}
			if tt.torn {
				text = strings.TrimSuffix(text, "\n")
			}
			state := t.TempDir()
			file := filepath.Join(state, ledgerFolder, "abcdef01"+ledgerSuffix)
			os.Mkdir(filepath.Dir(file), 0o700)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			supervisor(t, Options{StateDir: state})
			if got := !alive(victim.Process.Pid); got != tt.killed {
				t.Errorf("killed: %v, want %v", got, tt.killed)
			}
			if _, err := os.Stat(file); (err == nil) != tt.kept {
				t.Errorf("file: %v, want kept %v", err, tt.kept)
			}
		})
	}
}

func TestLedgerFiles(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "deep", "state")
	s, err := New(Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	names := ledgers(t, state)
	if len(names) != 1 {
		t.Fatalf("files %v", names)
	}
	for path, want := range map[string]os.FileMode{
		names[0]: 0o600, filepath.Dir(names[0]): 0o700 | os.ModeDir, state: 0o700 | os.ModeDir,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
		}
	}
	p := start(t, s, shell("cat", ""))
	text, _ := os.ReadFile(names[0])
	if want := fmt.Sprintf("+ %d %d\n", p.PID(), p.tree.leader.start); !strings.HasSuffix(string(text), want) {
		t.Errorf("ledger %q lacks %q", text, want)
	}
	end(t, p)
	if err := s.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	if names := ledgers(t, state); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

func TestStateDirThatCantBeUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := supervisor(t, Options{StateDir: file, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "no ledger") {
		t.Errorf("log %q", &log)
	}
	end(t, start(t, s, shell("true", "")))
}

func TestOldFilesOfUnknownOriginGo(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	folder := filepath.Join(state, ledgerFolder)
	os.Mkdir(folder, 0o700)
	head := func(name, text string, age time.Duration) {
		path := filepath.Join(folder, name)
		os.WriteFile(path, []byte(text), 0o600)
		at := time.Now().Add(-age)
		os.Chtimes(path, at, at)
	}
	here, _ := whereabouts()
	foreign := fmt.Sprintf(ledgerHead, 1, 1, 1, "pid:[1]", here.boot)
	head("old-foreign"+ledgerSuffix, foreign, 2*staleAge)
	head("new-foreign"+ledgerSuffix, foreign, 0)
	head("old"+freshSuffix, "", 2*staleAge)
	head("new"+freshSuffix, "", 0)
	head("garbage"+ledgerSuffix, "\x00\xff", 0)
	head("note.txt", "not ours", 2*staleAge)
	s := supervisor(t, Options{StateDir: state})
	var left []string
	for _, name := range ledgers(t, state) {
		if base := filepath.Base(name); !strings.HasPrefix(base, fmt.Sprintf("%08x", s.host.instance)) {
			left = append(left, base)
		}
	}
	if got := strings.Join(left, " "); got != "new-foreign.ledger new.new note.txt" {
		t.Errorf("left: %s", got)
	}
}

func TestLedgerStaysSmall(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	l, err := openLedger(state, 0x1234)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for i := range 3*notedMax + 1 {
		l.started(entry{pid: i, start: 5})
		l.ended(entry{pid: i, start: 5})
	}
	l.started(entry{pid: 77, start: 5})
	file, err := os.Open(ledgers(t, state)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rec, err := readRecord(file)
	if err != nil || len(rec.leaders) != 1 || rec.leaders[0].pid != 77 || rec.instance != 0x1234 {
		t.Errorf("record %+v %v", rec, err)
	}
	if info, _ := file.Stat(); info.Size() > 20*notedMax {
		t.Errorf("%d bytes", info.Size())
	}
}

// An instance that runs below another one is killed: its orphans become the
// other's children and end with the tree.
func TestNestedInstance(t *testing.T) {
	for _, seen := range []bool{true, false} {
		dir := t.TempDir()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Grace: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		p := start(t, s, Command{Program: self, Env: []string{
			"PATH=" + os.Getenv("PATH"), helperVar + "=" + dir, "PROC_TEST_SCRIPT=" + allLeavers() + "\nwait",
		}})
		pids := pidsIn(t, dir, len(leavers))
		if seen {
			for _, pid := range pids {
				if !p.Contains(pid) {
					t.Errorf("%d isn't found", pid)
				}
			}
		}
		p.Signal("SIGKILL")
		waitExited(t, p)
		end(t, p)
		if seen {
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("%d is alive after End", pid)
				}
			}
		}
		if err := s.Close(within(t)); err != nil {
			t.Error(err)
		}
		for _, pid := range pids {
			if alive(pid) {
				t.Errorf("%d is alive after Close", pid)
			}
		}
	}
}
