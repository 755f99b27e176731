package agent

import "time"

// EventKind names what an [Event] says (lanes.md §1, the full form).
type EventKind string

// The closed set of event kinds. What a lane doesn't understand is
// KindRaw, never dropped.
const (
	KindMessage        EventKind = "message-chunk"
	KindThought        EventKind = "thought-chunk"
	KindToolCall       EventKind = "tool-call"
	KindToolCallUpdate EventKind = "tool-call-update"
	KindPlan           EventKind = "plan"
	KindUsage          EventKind = "usage"
	KindCommands       EventKind = "commands"
	KindMode           EventKind = "mode"
	KindConfig         EventKind = "config"
	KindTitle          EventKind = "title"
	KindNotice         EventKind = "notice"
	KindStalled        EventKind = "stalled"
	KindTruncated      EventKind = "truncated"
	KindRaw            EventKind = "raw"
)

// An Event is one thing that happened in a session. A lane fills Kind, the
// members of that kind and Turn; the session engine stamps Seq and Time.
// An Event is not changed after it was emitted, and its byte slices belong
// to it (a lane copies what it cuts from a reused buffer).
type Event struct {
	Kind EventKind
	// Turn is the number of the turn, from 1; 0 outside one.
	Turn uint64
	// Seq counts the session's events from 1.
	Seq uint64
	// Time is when the engine took the event.
	Time time.Time
	// Replay marks history told again by a load; never counted as the turn's.
	Replay bool

	// Text: message, thought, title (the title), mode (the mode id).
	Text string
	// ToolCall: tool-call and tool-call-update.
	ToolCall *ToolCall
	// Usage: usage.
	Usage *UsageReport
	// Notice: notice.
	Notice *Notice
	// Value: plan (ACP entries), commands (ACP availableCommands), config
	// (ACP configOptions), as JSON.
	Value []byte
	// IdleMs: stalled.
	IdleMs int64
	// Raw is the agent's own message where there is one, by its bytes: on
	// acp the whole session/update's `update` object (the block alone for a
	// non-text chunk), on other lanes the native record. Nil for an event
	// that the agent didn't send.
	Raw []byte
	// ACP is true when Raw is an ACP update object.
	ACP bool
}

// A ToolCall is what one event says of a tool call. In an update an absent
// member (nil, "") is unchanged.
type ToolCall struct {
	ID         string
	Title      string
	Kind       string // ACP's tool kinds: read edit delete move search execute think fetch switch_mode other
	Status     string // pending in_progress completed failed
	Content    []ToolContent
	HasContent bool // Content was given, maybe empty: it replaces
	// Append is text that grew since the last update (core.md §6).
	Append    string
	Locations []Location
	RawInput  []byte
	RawOutput []byte
	// Asked is false for a tool that ran without a question, nil if unknown.
	Asked        *bool
	ParentCallID string
	// Command is the lane's structured command line where it has one: argv,
	// or a single shell string in Shell. Permission rules look here, never
	// at the title.
	Argv  []string
	Shell string
}

// A Location is a file that a tool call touches. Line is 1-based as agents
// give it; 0 when absent.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"`
}

// ToolContent is one piece of a tool call's content (core.md §6).
type ToolContent struct {
	Type    string // text diff terminal raw
	Text    string
	Path    string
	OldText *string // nil: a new file
	NewText string
	// TerminalID is the agent's word for a terminal; Run the core's run of it.
	TerminalID string
	Run        string
	Value      []byte // raw
}

// UsageReport is one usage event: tokens, where they come from, cost and
// context.
type UsageReport struct {
	Usage   *Usage
	Source  string // reported derived unknown
	Cost    *Cost
	Context *ContextUse
}

// Sources of a [UsageReport].
const (
	SourceReported = "reported"
	SourceDerived  = "derived"
	SourceUnknown  = "unknown"
)

// Cost is money as the agent reports it for one turn.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// ContextUse is how full the model's window is, in tokens.
type ContextUse struct {
	Used int64 `json:"used"`
	Size int64 `json:"size"`
}

// Notice is a remark of ours about the session: level info, warning or
// error, a code to branch on and a text for people.
type Notice struct {
	Level string `json:"level"`
	Code  string `json:"code"`
	Text  string `json:"text"`
	Data  []byte `json:"-"`
}
