package agent

// Stop reasons that dragoman itself gives; any other word that an agent
// gave is passed through (lanes.md §1).
const (
	StopEndTurn         = "end_turn"
	StopMaxTokens       = "max_tokens"
	StopMaxTurnRequests = "max_turn_requests"
	StopRefusal         = "refusal"
	StopCancelled       = "cancelled"
	StopError           = "error"
)

// Suspects: why an outcome that looks like a success may be none
// (sidecar.md §2, lanes.md §1).
const (
	SuspectEmptyAfterCancel = "empty_after_cancel"
	SuspectCancelUnanswered = "cancel_unanswered"
	SuspectAgentErrorText   = "agent_error_text"
)

// An Outcome is how a turn that didn't fail ended. A turn ends with exactly
// one Outcome or one [Error].
type Outcome struct {
	// StopReason is one of the constants above or the agent's own word.
	StopReason string
	// Text is the whole text where the lane gives it (cli, rpc, serve);
	// empty on lanes whose chunks are the text.
	Text string
	// Truncated is true when an output budget cut something.
	Truncated bool
	// ExitCode is the process's on lanes with a process a turn; nil for a
	// signal or where there is none.
	ExitCode *int
	// Usage is nil when unknown.
	Usage *Usage
	// Suspect is one of the Suspect constants or "".
	Suspect string
}

// Usage counts tokens of one turn. A nil member is unknown, never zero
// (sidecar.md §2).
type Usage struct {
	Input       *int64 `json:"input"`
	CachedInput *int64 `json:"cachedInput"`
	CachedWrite *int64 `json:"cachedWrite"`
	Output      *int64 `json:"output"`
	Thought     *int64 `json:"thought"`
	Total       *int64 `json:"total"`
}

// Zero reports whether no member is known to be above 0.
func (u *Usage) Zero() bool {
	if u == nil {
		return true
	}
	for _, n := range []*int64{u.Input, u.CachedInput, u.CachedWrite, u.Output, u.Thought, u.Total} {
		if n != nil && *n > 0 {
			return false
		}
	}
	return true
}
