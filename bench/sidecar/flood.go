package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
)

// flood is an ACP agent: the prompt "BYTES COUNT" is answered with COUNT
// chunks of BYTES.
func flood(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	w := bufio.NewWriterSize(out, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
			Params struct {
				Prompt []struct {
					Text string `json:"text"`
				} `json:"prompt"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}`
		case "session/new":
			result = `{"sessionId":"flood"}`
		case "session/prompt":
			var size, count int
			if _, err := fmt.Sscan(m.Params.Prompt[0].Text, &size, &count); err != nil {
				return err
			}
			chunk := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"flood","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("x", size) + `"}}}}` + "\n"
			for range count {
				if _, err := w.WriteString(chunk); err != nil {
					return err
				}
			}
			result = `{"stopReason":"end_turn"}`
		}
		if m.ID != nil {
			id, err := json.Marshal(m.ID)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
}
