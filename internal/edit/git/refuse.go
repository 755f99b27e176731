package git

import (
	"strings"

	"dragoman/internal/redact"
	"dragoman/wire/op"
)

// refusal is the protocol's form of a call that failed: what git said on
// stderr, or on stdout where it has its say there.
func refusal(stderr, stdout string) error {
	said := strings.TrimSpace(stderr)
	if said == "" || strings.Contains(stdout, "CONFLICT") {
		said = strings.TrimSpace(said + "\n" + strings.TrimSpace(stdout))
	}
	said = strings.ToValidUTF8(redact.New(nil).Excerpt(said), "\uFFFD")
	switch {
	case isLock(said):
		return op.Busy(op.BusyIndexLock, "%s", said)
	case strings.Contains(said, "not a git repository"):
		return op.Unsupported("%s", said)
	case contains(said, signIn):
		return op.Denied("auth", "%s", said)
	}
	return gitRefused(said)
}

// errSilent is the refusal of a git that says nothing, as stash does when it
// meets a lock.
var errSilent = op.Conflict(op.ConflictGitRefused, "git refused without a word")

func gitRefused(said string) *op.Error {
	if said == "" {
		return errSilent
	}
	return op.Conflict(op.ConflictGitRefused, "%s", said)
}

// isLock reports whether git met somebody else's lock file.
func isLock(said string) bool {
	return strings.Contains(said, ".lock'") && strings.Contains(said, "File exists")
}

// signIn are the words of servers and helpers that want to know who asks.
var signIn = []string{
	"Authentication failed", "could not read Username", "could not read Password",
	"terminal prompts disabled", "Permission denied (", "Host key verification failed",
	"The requested URL returned error: 401", "The requested URL returned error: 403",
	"HTTP Basic: Access denied",
}

func contains(s string, any []string) bool {
	for _, a := range any {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}
