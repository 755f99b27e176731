package agent

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		name string
		err  *Error
		want Flags
	}{
		{"unsupported", Fail(CodeModelUnsupported, StageConfiguration, ""), FlagsFinal},
		{"closed", Fail(CodeSessionClosed, StagePrompt, ""), FlagsFinal},
		{"closed by the turn's end", FailFlags(CodeSessionClosed, StagePrompt, "", FlagsUncertain), FlagsUncertain},
		{"auth required", Fail(CodeAuthRequired, "session/new", ""), FlagsRetry},
		{"certain quota", FailQuota(StagePrompt, "", Certain), FlagsRetry},
		{"uncertain quota", FailQuota(StagePrompt, "", Uncertain), FlagsBroken},
		{"certain turn failed", FailTurn(StagePrompt, "", Certain), FlagsRetry},
		{"uncertain turn failed", FailTurn(StagePrompt, "", Uncertain), FlagsBroken},
		{"protocol failed", Fail(CodeProtocolFailed, StagePrompt, ""), FlagsBroken},
		{"turn id missing beats missing", Fail(CodeTurnIDMissing, "rpc/prompt", ""), FlagsBroken},
		{"receipt invalid beats invalid", Fail(CodeReceiptInvalid, "cli/receipt", ""), FlagsUncertain},
		{"session id missing", Fail(CodeSessionIDMissing, "cli/open", ""), FlagsFinal},
		{"not found", FailSystem(CodeProcessStartFailed, StageProcessStart, &fs.PathError{Err: fs.ErrNotExist}), FlagsFinal},
		{"permission denied", FailSystem(CodeProcessStartFailed, StageProcessStart, fs.ErrPermission), FlagsFinal},
		{"time-out", FailSystem(CodeProcessStartFailed, StageProcessStart, os.ErrDeadlineExceeded), FlagsRetry},
		{"other", FailSystem(CodeProcessStartFailed, StageProcessStart, errors.New("x")), FlagsBroken},
	}
	for _, tt := range tests {
		if got := (Flags{tt.err.Retryable, tt.err.UncertainEffect}); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	got := Fail(CodeRemoteError, "rpc/call", "no such method").Error()
	if want := "agent_remote_error [rpc/call]: no such method"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestQuota(t *testing.T) {
	for _, text := range []string{"You hit your USAGE LIMIT", "429 Too Many Requests", "insufficient_quota", "RateLimitError", "Model not found"} {
		if !Quota(text) {
			t.Errorf("%q isn't read as a quota", text)
		}
	}
	for _, text := range []string{"", "key expired", "model is fine", "limit"} {
		if Quota(text) {
			t.Errorf("%q is read as a quota", text)
		}
	}
}
