package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// A side is one sidecar binary.
type side struct{ name, path string }

// A link is one running sidecar.
type link struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (s side) start() (*link, error) {
	l := &link{cmd: exec.Command(s.path, "serve")}
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.out = bufio.NewReaderSize(out, 1<<20)
	return l, l.cmd.Start()
}

func (l *link) end() error {
	if err := l.in.Close(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, l.out); err != nil {
		return err
	}
	return l.cmd.Wait()
}

// run takes every figure of one side once.
func (s side) run() (map[string]float64, error) {
	figures := map[string]float64{}
	began := time.Now()
	l, err := s.start()
	if err != nil {
		return nil, err
	}
	if _, err := l.call(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "1"); err != nil {
		return nil, err
	}
	figures["first answer, ms"] = time.Since(began).Seconds() * 1000
	if figures["pings a second"], err = l.pings(); err != nil {
		return nil, err
	}
	session, err := l.open()
	if err != nil {
		return nil, err
	}
	for i, ld := range loads {
		cpu := l.cpu()
		began := time.Now()
		prompt := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"text":"%d %d"}}`, 10+i, session, ld.bytes, ld.count)
		events, err := l.call(prompt, strconv.Itoa(10+i))
		if err != nil {
			return nil, err
		}
		if events != ld.count {
			return nil, fmt.Errorf("%d events of %d", events, ld.count)
		}
		wall := time.Since(began).Seconds()
		figures[ld.name+" events a second"] = float64(ld.count) / wall
		figures[ld.name+" MB a second"] = float64(ld.count*ld.bytes) / wall / 1e6
		figures[ld.name+" CPU µs an event"] = (l.cpu() - cpu).Seconds() * 1e6 / float64(ld.count)
	}
	figures["resident after, MiB"] = l.memory("VmRSS:")
	figures["peak, MiB"] = l.memory("VmHWM:")
	return figures, l.end()
}

func (l *link) open() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	spec, err := json.Marshal(map[string]any{"id": "flood", "lane": "acp", "command": map[string]any{"program": self, "args": []string{"-as", "agent"}}})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":2,"method":"session/open","params":{"spec":%s}}`+"\n", spec)
	line, err := l.out.ReadBytes('\n')
	if err != nil {
		return "", err
	}
	var reply struct {
		Result struct {
			SessionID string `json:"sessionId"`
		} `json:"result"`
	}
	if err := json.Unmarshal(line, &reply); err != nil || reply.Result.SessionID == "" {
		return "", fmt.Errorf("the open failed: %s", line)
	}
	return reply.Result.SessionID, nil
}

// call sends a request and counts the events before its answer.
func (l *link) call(request, id string) (events int, err error) {
	if _, err := io.WriteString(l.in, request+"\n"); err != nil {
		return 0, err
	}
	event := []byte(`"method":"session/event"`)
	for {
		head, err := l.line()
		if err != nil {
			return events, err
		}
		if bytes.Contains(head, event) {
			events++
			continue
		}
		if bytes.Contains(head, []byte(`"error":{`)) {
			return events, fmt.Errorf("answered %s", head)
		}
		return events, nil
	}
}

// line reads a line and returns its first part; it holds no more of it.
func (l *link) line() ([]byte, error) {
	head, err := l.out.ReadSlice('\n')
	first := append([]byte(nil), head[:min(len(head), 400)]...)
	for err == bufio.ErrBufferFull {
		_, err = l.out.ReadSlice('\n')
	}
	return first, err
}

// pings writes many pings in batches while the answers are read.
func (l *link) pings() (float64, error) {
	failed := make(chan error, 1)
	began := time.Now()
	go func() {
		var batch []byte
		for i := range pings {
			batch = fmt.Appendf(batch, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", 1000+i)
			if len(batch) > 32<<10 || i == pings-1 {
				if _, err := l.in.Write(batch); err != nil {
					failed <- err
					return
				}
				batch = batch[:0]
			}
		}
		failed <- nil
	}()
	for range pings {
		if _, err := l.line(); err != nil {
			return 0, err
		}
	}
	return pings / time.Since(began).Seconds(), <-failed
}

// clockTick is the kernel's unit of CPU time in /proc.
const clockTick = 10 * time.Millisecond

// cpu is the sidecar's own time, without its agents.
func (l *link) cpu() time.Duration {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.cmd.Process.Pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * clockTick
}

func (l *link) memory(field string) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
