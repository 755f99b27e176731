package host

import (
	"fmt"
	"slices"
	"time"

	"dragoman/wire/envelope"
)

// Defaults of a [Config] (envelope.md, session rules 5 and 8).
const (
	DefaultGrace        = 500 * time.Millisecond
	DefaultHelloTimeout = 5 * time.Second
)

// A Strictness says what a host does on a protocol error of the agent.
type Strictness uint8

// The strictnesses.
const (
	// Strict: report, fail what is pending, end the agent.
	Strict Strictness = iota
	// Lenient: report, drop the line, go on.
	Lenient
)

// A Config says what a host grants and how long it waits. The zero value
// grants nothing.
type Config struct {
	// Grants are the capabilities that the agent may be asked for; they are
	// the host's hello.
	Grants []string
	// Implementation says who we are in the hello; "" says nothing.
	Implementation string
	// Limits are the budgets.
	Limits envelope.Limits
	// Grace is how long the agent has to acknowledge a cancel; 0 is
	// [DefaultGrace].
	Grace time.Duration
	// HelloTimeout is how long it has for its hello; 0 is
	// [DefaultHelloTimeout].
	HelloTimeout time.Duration
	// Strictness on protocol errors.
	Strictness Strictness
	// Report gets each protocol error of the agent, by the goroutine that
	// reads: code, offset and the line's escaped start. Nil drops it.
	Report func(Problem)
	// Trace gets the line of each valid envelope of the agent, by the goroutine
	// that reads, before it acts; the line is valid during the call. Nil drops
	// it.
	Trace func(line []byte)
}

// A Problem is one protocol error of the agent.
type Problem struct {
	Err *envelope.Error
	// Line is the start of the line, escaped ([envelope.Excerpt]).
	Line string
}

// Check reports a bad configuration as INVALID_CONFIGURATION.
func (c Config) Check() error {
	limit := c.Limits.Resolve().Capabilities
	if len(c.Grants) > limit {
		return refuse(CodeInvalidConfiguration, fmt.Sprintf("%d grants, over the limit of %d", len(c.Grants), limit))
	}
	for i, g := range c.Grants {
		if !envelope.ValidCapability(g) {
			return refuse(CodeInvalidConfiguration, fmt.Sprintf("grant %q is no capability", g))
		}
		if slices.Contains(c.Grants[:i], g) {
			return refuse(CodeInvalidConfiguration, fmt.Sprintf("grant %q stands there twice", g))
		}
	}
	return nil
}

// Authorize reports UNAUTHORIZED_CAPABILITY unless the operation is granted.
// It is the first check of all, and needs no agent.
func (c Config) Authorize(operation string) error {
	if !slices.Contains(c.Grants, operation) {
		return refuse(CodeUnauthorizedCapability, fmt.Sprintf("capability %q is not granted", operation))
	}
	return nil
}

func (c Config) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return DefaultGrace
}

func (c Config) helloTimeout() time.Duration {
	if c.HelloTimeout > 0 {
		return c.HelloTimeout
	}
	return DefaultHelloTimeout
}
