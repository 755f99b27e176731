package agent

// Kinds of permission options (ACP's).
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// What a reject does to the turn on this agent (core.md §6, `then`).
const (
	ThenContinues = "continues"
	ThenEndsTurn  = "ends_turn"
	ThenUnknown   = "unknown"
)

// A Question is a permission that the agent asks for. It is fenced by its
// turn.
type Question struct {
	// Turn is the turn that asks; 0 outside one.
	Turn uint64
	// ToolCall is the call joined with what was said of it earlier.
	ToolCall ToolCall
	// Options are those that the agent offered, in its order.
	Options []Option
	// Raw are the agent's params by their bytes.
	Raw []byte
}

// An Option is one offered answer.
type Option struct {
	ID   string
	Name string
	Kind string
	Then string
}

// An Answer to a [Question]: an offered option, or cancelled (the zero
// value), which is also what every failure to answer comes to.
type Answer struct {
	// OptionID is one of the offered ids; "" is cancelled.
	OptionID string
	// Reason is a person's word for a reject, delivered where the dialect can.
	Reason string
}

// Cancelled reports whether no option was chosen.
func (a Answer) Cancelled() bool { return a.OptionID == "" }

// Offered reports whether id is one of q's options.
func (q *Question) Offered(id string) bool {
	for _, o := range q.Options {
		if o.ID == id {
			return true
		}
	}
	return false
}
