// Command envelope measures how fast envelopes of 2 KiB are judged and read:
// ours against encoding/json plus santhosh-tekuri/jsonschema, and against
// encoding/json alone, in one run. Figures are ratios.
//
// It also feeds a reader 100 MB of garbage in one line and prints what was
// allocated for it.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"dragoman/wire/envelope"
	"dragoman/wire/ndjson"
)

func main() {
	schemaFile := flag.String("schema", "../schemas/agent-protocol/v1/envelope.schema.json", "the schema")
	each := flag.Duration("for", 2*time.Second, "how long each contestant runs")
	rounds := flag.Int("rounds", 3, "rounds, of which the best of each counts")
	flag.Parse()
	if err := run(*schemaFile, *each, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "envelope:", err)
		os.Exit(1)
	}
}

// A contestant judges one line.
type contestant struct {
	name  string
	judge func(line []byte) error
}

func run(schemaFile string, each time.Duration, rounds int) error {
	schema, err := compile(schemaFile)
	if err != nil {
		return err
	}
	decoder := envelope.NewDecoder(envelope.Limits{})
	contestants := []contestant{
		{"ours", func(line []byte) error { _, err := decoder.Decode(line); return err }},
		{"encoding/json and jsonschema", func(line []byte) error {
			var v any
			if err := json.Unmarshal(line, &v); err != nil {
				return err
			}
			return schema.Validate(v)
		}},
		{"encoding/json alone, into a struct", func(line []byte) error { return json.Unmarshal(line, new(loose)) }},
	}
	line := sample(2048)
	best := make([]time.Duration, len(contestants))
	for range rounds {
		for i, c := range contestants {
			d, err := measure(c, line, each)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if best[i] == 0 || d < best[i] {
				best[i] = d
			}
		}
	}
	for i, c := range contestants {
		fmt.Printf("%-36s %10s a line of %d bytes, %.2f × ours\n", c.name, best[i], len(line), float64(best[i])/float64(best[0]))
	}
	return garbage(100_000_000)
}

// loose is the least that a reader needs.
type loose struct {
	ProtocolVersion, Kind, MessageID, SentAt, RequestID, Event string
	Output                                                     json.RawMessage
}

func compile(file string) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return c.Compile(file)
}

// sample is a valid event of size bytes, in the shape of an agent's.
func sample(size int) []byte {
	const head = `{"protocolVersion":"1.0","kind":"event","messageId":"m123456","sentAt":"2026-12-01T12:34:56.789Z","requestId":"r42","event":"tool",` +
		`"output":{"toolCallId":"call-7","title":"go test ./...","kind":"execute","status":"completed","locations":[{"path":"a/b.go","line":12},{"path":"c.go","line":3}],"text":"`
	const tail = `"}}`
	text := strings.Repeat(`ok  \tdragoman/wire 0.123s — grün\n`, size)
	cut := size - len(head) - len(tail)
	for text[cut-1] != 'n' || text[cut-2] != '\\' {
		cut--
	}
	return []byte(head + text[:cut] + tail)
}

func measure(c contestant, line []byte, each time.Duration) (time.Duration, error) {
	n := 0
	start := time.Now()
	for time.Since(start) < each {
		for range 100 {
			if err := c.judge(line); err != nil {
				return 0, err
			}
		}
		n += 100
	}
	return time.Since(start) / time.Duration(n), nil
}

// garbage reads one endless line and the good one behind it.
func garbage(size int64) error {
	stream := io.MultiReader(io.LimitReader(noise{}, size), strings.NewReader("\n"), bytes.NewReader(sample(2048)), strings.NewReader("\n"))
	r := ndjson.NewReader(stream, ndjson.ReaderOptions{MaxLineBytes: envelope.DefaultLineBytes})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.Next()
	runtime.ReadMemStats(&after)
	if _, ok := err.(*ndjson.LineTooLongError); !ok {
		return fmt.Errorf("a line of %d bytes gave %v", size, err)
	}
	if _, err := r.Next(); err != nil {
		return err
	}
	fmt.Printf("a garbage line of %d bytes: %d bytes allocated\n", size, after.TotalAlloc-before.TotalAlloc)
	return nil
}

type noise struct{}

func (noise) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
