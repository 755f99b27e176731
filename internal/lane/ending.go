package lane

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// endingWait is how long [Ending] waits for the exit of a child whose output
// has ended already.
const endingWait = 2 * time.Second

// Ending says how a child ended, for an error's detail (sidecar.md §2): its
// exit status and the last line of its stderr. A child whose output ended has
// a moment to exit; ctx cuts that short.
func Ending(ctx context.Context, p Process) string {
	timer := time.NewTimer(endingWait)
	defer timer.Stop()
	text := "the agent closed its output"
	select {
	case <-p.Exited():
		text = p.Status().String()
	case <-timer.C:
	case <-ctx.Done():
	}
	if line := LastLine(p.StderrTail()); line != "" {
		text += ": " + line
	}
	return text
}

// String is "the agent exited with code 3" or "the agent was ended by
// SIGKILL".
func (s ExitStatus) String() string {
	if s.Signal != "" {
		return "the agent was ended by " + s.Signal
	}
	return fmt.Sprintf("the agent exited with code %d", s.Code)
}

// LastLine is the last line of a tail of stderr that isn't blank.
func LastLine(tail string) string {
	tail = strings.TrimRight(tail, " \t\r\n")
	return strings.TrimSpace(tail[strings.LastIndexAny(tail, "\r\n")+1:])
}
