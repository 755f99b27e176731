package agent

// A Spec says how to start and drive one agent (sidecar.md §4, lanes.md
// §11). It is decoded by [ParseSpec]; the members that belong to a lane stay
// in Raw and are decoded by that lane.
type Spec struct {
	// ID names the agent, for people and presets.
	ID string
	// Lane is the dialect: acp cli rpc serve claude codex opencode pi
	// stream-json envelope.
	Lane string
	// ClientName goes to the agent as client info; "" is dragoman.
	ClientName string
	// MaxOutputBytes is the budget of output a turn; nil for none.
	MaxOutputBytes *int64
	Command        Command
	// Raw is the whole spec object as JSON, after a preset was merged.
	Raw []byte
}

// Command is the program of a [Spec].
type Command struct {
	Program string
	Args    []string
	// Cwd is "" when absent.
	Cwd string
	Env EnvPolicy
}

// EnvPolicy says which variables a child gets. The zero value is the
// sanitized default.
type EnvPolicy struct {
	// InheritAll passes the whole parent environment; else only the 18 safe
	// names and Inherit.
	InheritAll bool
	Inherit    []string
	// Set in the order given.
	Set []EnvSetting
}

// EnvSetting is one variable that a policy sets: exactly one of Literal,
// HostEnv and Secret counts, by Source.
type EnvSetting struct {
	Name   string
	Source EnvSource
	// Value is the literal, the host variable's name, or the secret's reference.
	Value string
}

// EnvSource tells what the Value of an [EnvSetting] is.
type EnvSource int

// The sources of a value.
const (
	EnvLiteral EnvSource = iota
	EnvHost
	EnvSecret
)

// Options are the selectors of an open or, model and effort only, of a turn.
// Nil is absent; a blank string was given and is refused.
type Options struct {
	Model      *string
	Mode       *string
	Effort     *string
	Permission *string
}
