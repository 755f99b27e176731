// Package streamjson is the lane of Gemini CLI's and Qwen Code's stream-json
// output (lanes.md §8), for where ACP isn't there: one process a turn, the
// prompt on its stdin, JSON lines from it. Nobody can be asked anything.
//
// # Goroutines
//
// A turn has one that reads the process and emits every event, and one that
// writes the prompt; both have ended when the turn has.
package streamjson
