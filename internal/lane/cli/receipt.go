package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/internal/lane/usage"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"
)

const stageReceipt = "cli/receipt"

// Where a receipt may say things, first come.
var (
	receiptIDs    = []string{"conversationId", "conversation_id", "sessionId", "session_id"}
	receiptUsages = []string{"usage", "tokenUsage", "token_usage"}
)

// A receipt is a file in a folder of its own that the agent writes.
type receipt struct {
	dir  string
	path string
	max  int64
	// id and usage are known after read.
	id    string
	usage *agent.Usage
}

// newReceipt makes the folder, which only we can enter.
func newReceipt(limit *int64) (*receipt, error) {
	dir, err := os.MkdirTemp("", "dragoman-receipt-")
	if err != nil {
		return nil, err
	}
	r := &receipt{dir: dir, path: filepath.Join(dir, "receipt.json"), max: minLineLimit}
	if limit != nil {
		r.max = max(r.max, *limit)
	}
	return r, nil
}

// remove removes the folder.
func (r *receipt) remove() { os.RemoveAll(r.dir) }

// env returns env with the receipt's variable.
func (r *receipt) env(env []string, name string) []string {
	out := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, name+"=") {
			out = append(out, entry)
		}
	}
	return append(out, name+"="+r.path)
}

// read reads the receipt; a missing one is fine. Its errors name the file,
// which is then kept.
func (r *receipt) read() error {
	info, err := os.Lstat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return r.fail(agent.CodeReceiptReadFailed, "can't be read")
	case !info.Mode().IsRegular():
		return r.fail(agent.CodeReceiptReadFailed, "is no regular file")
	}
	file, err := os.Open(r.path)
	if err != nil {
		return r.fail(agent.CodeReceiptReadFailed, "can't be read")
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, r.max+1))
	if err != nil {
		return r.fail(agent.CodeReceiptReadFailed, "can't be read")
	}
	if int64(len(data)) > r.max {
		return r.fail(agent.CodeReceiptTooLarge, fmt.Sprintf("is over the limit of %d bytes", r.max))
	}
	return r.parse(data)
}

func (r *receipt) parse(data []byte) error {
	fixed, _, err := ndjson.Repair(nil, data)
	if err != nil {
		return r.fail(agent.CodeReceiptInvalid, "is no valid JSON")
	}
	if _, err := ndjson.Members(fixed); err != nil {
		return r.fail(agent.CodeReceiptInvalid, "is no object")
	}
	places := [][]byte{fixed}
	if payload := hookPayload(fixed); payload != nil {
		places = append(places, payload)
	}
	for _, place := range places {
		for _, name := range receiptIDs {
			raw, _, _ := ndjson.Get(place, name)
			if id, _ := agent.String(raw); id != "" && r.id == "" {
				r.id = id
			}
		}
		for _, name := range receiptUsages {
			if raw, kind, ok := ndjson.Get(place, name); ok && kind == ndjson.Object && r.usage == nil {
				r.usage = usage.Read(raw)
			}
		}
	}
	if r.id == "" {
		return r.fail(agent.CodeReceiptSessionIDMissing, "holds no session id")
	}
	return nil
}

// hookPayload is the member of that name: an object, or one as JSON in a
// string; nil if it is neither.
func hookPayload(data []byte) []byte {
	raw, kind, _ := ndjson.Get(data, "hookPayload")
	if kind == ndjson.Object {
		return raw
	}
	text, ok := agent.String(raw)
	if !ok {
		return nil
	}
	fixed, _, err := ndjson.Repair(nil, []byte(text))
	if err != nil {
		return nil
	}
	return fixed
}

func (r *receipt) fail(code, what string) error {
	return agent.Fail(code, stageReceipt, "the receipt "+r.path+" "+what)
}
