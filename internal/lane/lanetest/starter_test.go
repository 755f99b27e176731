package lanetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/lane"
)

// start starts program in the bubble of t.
func start(t *testing.T, c lane.Command, program Program) (*Starter, *Process) {
	t.Helper()
	s := PipeStarter(program)
	p, err := s.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s, p.(*Process)
}

func TestProcessEndsWithItsInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := start(t, lane.Command{}, func(_ context.Context, std Stdio) lane.ExitStatus {
			n, _ := io.Copy(std.Out, std.In)
			io.WriteString(std.Err, "bye")
			return lane.ExitStatus{Code: int(n)}
		})
		io.WriteString(p.Stdin(), "12345")
		if s.Running() != 1 {
			t.Errorf("%d run, want 1", s.Running())
		}
		begin := time.Now()
		if err := p.End(t.Context()); err != nil || time.Since(begin) != 0 {
			t.Errorf("End took %v, error %v", time.Since(begin), err)
		}
		if out, err := io.ReadAll(p.Stdout()); string(out) != "12345" || err != nil {
			t.Errorf("stdout %q, %v", out, err)
		}
		if p.Status() != (lane.ExitStatus{Code: 5}) || p.StderrTail() != "bye" || s.Running() != 0 {
			t.Errorf("status %v, stderr %q, %d run", p.Status(), p.StderrTail(), s.Running())
		}
	})
}

func TestProcessIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := start(t, lane.Command{}, func(ctx context.Context, s Stdio) lane.ExitStatus {
			<-s.Interrupted // ignored
			<-ctx.Done()
			return lane.ExitStatus{}
		})
		for range 2 {
			if err := p.Interrupt(); err != nil {
				t.Error(err)
			}
		}
		begin := time.Now()
		if err := p.End(t.Context()); err != nil || time.Since(begin) != endGrace {
			t.Errorf("End took %v, error %v", time.Since(begin), err)
		}
		if p.Status() != (lane.ExitStatus{Code: -1, Signal: "SIGKILL"}) || p.Interruptions() != 2 {
			t.Errorf("status %v, %d interruptions", p.Status(), p.Interruptions())
		}
		if _, err := io.WriteString(p.Stdin(), "x"); err == nil {
			t.Error("a dead process takes input")
		}
	})
}

func TestStdinNull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := start(t, lane.Command{Stdin: lane.StdinNull}, func(_ context.Context, s Stdio) lane.ExitStatus {
			b, _ := io.ReadAll(s.In)
			return lane.ExitStatus{Code: len(b)}
		})
		if p.Stdin() != nil {
			t.Error("a null stdin can be written")
		}
		<-p.Exited()
		if p.Status().Code != 0 {
			t.Errorf("status %v", p.Status())
		}
	})
}

func TestMissingProgram(t *testing.T) {
	_, err := PipeStarter(nil).Start(t.Context(), lane.Command{Program: MissingProgram})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want not exist", err)
	}
}

// A pipe holds a bounded amount: its writer waits for the reader.
func TestPipeHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe()
		text := bytes.Repeat([]byte("0123456789"), pipeBytes/5)
		written := make(chan int, 1)
		go func() {
			n, err := p.Write(text)
			if err != nil {
				t.Error(err)
			}
			p.Close()
			written <- n
		}()
		synctest.Wait()
		if len(written) != 0 || len(p.data) != pipeBytes {
			t.Fatalf("the pipe holds %d bytes, want %d", len(p.data), pipeBytes)
		}
		got, err := io.ReadAll(p)
		if err != nil || !bytes.Equal(got, text) || <-written != len(text) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
	})
}
