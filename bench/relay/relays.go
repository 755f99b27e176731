package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"dragoman/wire/ndjson"
)

// relays are the variants by name.
var relays = map[string]func(io.Reader, io.Writer) error{
	"ours":          ours,
	"encoding/json": naive,
}

// ours relays checked lines and drops the others, as every link of dragoman
// does. Output waits until the input runs dry; a full queue holds back reading.
func ours(in io.Reader, out io.Writer) error {
	ndjson.WidenPipe(in)
	ndjson.WidenPipe(out)
	r := ndjson.NewReader(in, ndjson.ReaderOptions{})
	w := ndjson.NewWriter(out, ndjson.WriterOptions{})
	var s ndjson.Scanner
	var long *ndjson.LineTooLongError
	for {
		if !r.Buffered() {
			w.Push()
		}
		line, err := r.Next()
		switch {
		case err == nil:
		case err == io.EOF:
			return w.Close()
		case errors.As(err, &long):
			continue
		default:
			return err
		}
		if s.Scan(line) != nil {
			continue
		}
		if err := w.Queue(line); err != nil {
			return err
		}
		if w.Pending() > waiting {
			if err := w.Flush(context.Background()); err != nil {
				return err
			}
		}
	}
}

// waiting is how much may wait to be written.
const waiting = 512 << 10

// naive is what a first attempt looks like: decode, encode, write.
func naive(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 1<<16)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		var v map[string]any
		if json.Unmarshal(line, &v) != nil {
			continue
		}
		if err := enc.Encode(v); err != nil {
			return err
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}
