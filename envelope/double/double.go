// Package double is a scripted peer for tests: a scenario file says what to
// expect on standard input and what to answer, delay, split or break. It
// plays any line protocol; for the envelope protocol it fills in what every
// envelope has.
//
// # Scenario files
//
// A scenario is JSON Lines; blank lines and lines that begin with # are
// skipped. Each line is one step, an object with one of these members and
// what may go with it:
//
//	{"as":"envelope"}              a send lacks protocolVersion, messageId and sentAt: fill them in ("raw": as it stands)
//	{"expect":P}                   read one line, which must match P; with "skip":true drop lines until one does,
//	                               with "name":N call it N, with "withinMs":T fail after T
//	{"expectEnd":true}             the input must end here
//	{"send":V}                     write V as one line
//	{"raw":S}                      write the text S as it is, no line end added; "base64":S for any bytes;
//	                               with "times":N, N times
//	{"stderr":S}                   write S and a line end to stderr
//	{"delayMs":N}                  wait
//	{"on":P,"do":[…]}              from now on a line that matches P runs these steps, whatever waits for input
//	{"times":N,"do":[…]}           run these steps N times
//	{"serve":true}                 read until the input ends; only "on" answers
//	{"hang":true}                  read nothing more and never end
//	{"exit":N}                     end with this status
//
// send and raw take "splitAt":[offsets] to write in pieces, with "pauseMs":N
// between them. A scenario that is over ends with status 0.
//
// # Patterns and names
//
// A pattern matches a value that holds it: of an object the members that the
// pattern has, of an array all elements, anything for the pattern "*", else
// the same value. In a send, "${N.a.b}" as a whole string becomes the value at
// a.b in the line called N, and inside a longer string its text. A line that
// an "on" took is called message.
package double

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxScenarioLineBytes is the longest line of a scenario.
const MaxScenarioLineBytes = 16 << 20

// A Scenario is what a double does. It isn't changed by being played, so
// that one can be played any number of times at once.
type Scenario struct{ steps []step }

// A step is one line of a scenario.
type step struct {
	As        string         `json:"as"`
	Expect    jsontext.Value `json:"expect"`
	ExpectEnd bool           `json:"expectEnd"`
	Send      jsontext.Value `json:"send"`
	Raw       *string        `json:"raw"`
	Base64    []byte         `json:"base64"`
	Stderr    *string        `json:"stderr"`
	DelayMs   int            `json:"delayMs"`
	On        jsontext.Value `json:"on"`
	Do        []step         `json:"do"`
	Serve     bool           `json:"serve"`
	Hang      bool           `json:"hang"`
	Exit      *int           `json:"exit"`

	Name     string `json:"name"`
	Skip     bool   `json:"skip"`
	WithinMs int    `json:"withinMs"`
	Times    int    `json:"times"`
	SplitAt  []int  `json:"splitAt"`
	PauseMs  int    `json:"pauseMs"`

	line int // in the scenario, from 1
	run  action
}

// A SyntaxError says which line of a scenario can't be read, and why.
type SyntaxError struct {
	Line   int
	Detail string
}

// Error names the line.
func (e *SyntaxError) Error() string { return fmt.Sprintf("scenario line %d: %s", e.Line, e.Detail) }

// Parse reads a scenario. Its error is a [*SyntaxError], or the reader's.
func Parse(r io.Reader) (*Scenario, error) {
	s := &Scenario{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxScenarioLineBytes)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		var st step
		if err := json.Unmarshal(line, &st, json.RejectUnknownMembers(true)); err != nil {
			return nil, &SyntaxError{n, err.Error()}
		}
		if err := st.prepare(n); err != nil {
			return nil, &SyntaxError{n, err.Error()}
		}
		s.steps = append(s.steps, st)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, &SyntaxError{len(s.steps) + 1, fmt.Sprintf("a line is over the limit of %d bytes", MaxScenarioLineBytes)}
	}
	return s, lines.Err()
}

// prepare finds what the step does, and checks it and those in it.
func (st *step) prepare(line int) error {
	st.line = line
	var what []string
	for _, v := range verbs {
		if v.given(st) {
			what = append(what, v.name)
			st.run = v.run
		}
	}
	if len(what) != 1 {
		return fmt.Errorf("a step does one thing, not %d: %s", len(what), strings.Join(what, ", "))
	}
	if st.As != "" && st.As != "raw" && st.As != "envelope" {
		return fmt.Errorf("as is raw or envelope, not %s", st.As)
	}
	for i, at := range st.SplitAt {
		if at < 1 || i > 0 && at <= st.SplitAt[i-1] {
			return errors.New("splitAt must rise from 1")
		}
	}
	if st.DelayMs < 0 || st.PauseMs < 0 || st.WithinMs < 0 || st.Times < 0 {
		return errors.New("a number is negative")
	}
	for i := range st.Do {
		if err := st.Do[i].prepare(line); err != nil {
			return err
		}
	}
	return nil
}
