package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// The closed set of error codes, one set for every lane and face
// (sidecar.md §2, lanes.md §1).
const (
	CodeProcessStartFailed         = "agent_process_start_failed"
	CodeProcessCleanupFailed       = "agent_process_cleanup_failed"
	CodeSidecarClosing             = "sidecar_closing"
	CodeSessionClosed              = "agent_session_closed"
	CodeSessionCancelled           = "agent_session_cancelled"
	CodeSessionOpenFailed          = "agent_session_open_failed"
	CodeSessionIDMissing           = "agent_session_id_missing"
	CodeSessionIDTooLarge          = "agent_session_id_too_large"
	CodeResumeUnsupported          = "agent_session_resume_unsupported"
	CodeRecoveryRequired           = "agent_session_recovery_required"
	CodeModelUnsupported           = "agent_model_unsupported"
	CodeEffortUnsupported          = "agent_effort_unsupported"
	CodeModeUnsupported            = "agent_mode_unsupported"
	CodePermissionUnsupported      = "agent_permission_unsupported"
	CodeConfigurationUnavailable   = "agent_configuration_unavailable"
	CodeConfigurationRejected      = "agent_configuration_rejected"
	CodeEnvSourceUnavailable       = "agent_env_source_unavailable"
	CodeMCPServerInvalid           = "agent_mcp_server_invalid"
	CodeAuthRequired               = "agent_auth_required"
	CodeQuotaExhausted             = "agent_quota_exhausted"
	CodeTurnFailed                 = "agent_turn_failed"
	CodeTurnIDMissing              = "agent_turn_id_missing"
	CodeCancelUnsupported          = "agent_cancel_unsupported"
	CodeCancelTargetUnavailable    = "agent_cancel_target_unavailable"
	CodeProtocolVersionUnsupported = "agent_protocol_version_unsupported"
	CodeProtocolError              = "agent_protocol_error"
	CodeProtocolFailed             = "agent_protocol_failed"
	CodeTransportFailed            = "agent_transport_failed"
	CodeRemoteError                = "agent_remote_error"
	CodeMethodUnset                = "agent_method_unset"
	CodePromptChannelUnsatisfied   = "agent_prompt_channel_unsatisfied"
	CodeReceiptReadFailed          = "agent_receipt_read_failed"
	CodeReceiptTooLarge            = "agent_receipt_too_large"
	CodeReceiptInvalid             = "agent_receipt_invalid"
	CodeReceiptSessionIDMissing    = "agent_receipt_session_id_missing"
)

// Stages that more than one package names.
const (
	StageOpen          = "session/open"
	StagePrompt        = "session/prompt"
	StageCancel        = "session/cancel"
	StageClose         = "session/close"
	StageResume        = "session/resume"
	StageConfiguration = "session/configuration"
	StageTurnConfig    = "turn/configuration"
	StageProcessStart  = "process/start"
	StageProcessClose  = "process/cleanup"
	StageEnvResolve    = "env/resolve"
)

// Flags are the two promises of an [Error]: whether trying again may work,
// and whether the agent may have acted all the same.
type Flags struct{ Retryable, Uncertain bool }

// The four pairs by name.
var (
	FlagsFinal     = Flags{}                                 // no/no
	FlagsRetry     = Flags{Retryable: true}                  // yes/no
	FlagsUncertain = Flags{Uncertain: true}                  // no/yes
	FlagsBroken    = Flags{Retryable: true, Uncertain: true} // yes/yes
)

// codeFlags holds the codes that aren't no/no (sidecar.md §2, "Flags").
var codeFlags = map[string]Flags{
	CodeAuthRequired:   FlagsRetry,
	CodeQuotaExhausted: FlagsRetry, // the certain one
	CodeTurnFailed:     FlagsRetry, // the certain one

	CodeProtocolFailed:       FlagsBroken, // acp and our own lanes; serve decides by hand
	CodeTransportFailed:      FlagsBroken,
	CodeTurnIDMissing:        FlagsBroken,
	CodeRecoveryRequired:     FlagsBroken,
	CodeProcessStartFailed:   FlagsBroken, // a system error that is none of SystemFlags' cases
	CodeProcessCleanupFailed: FlagsBroken,

	CodeReceiptReadFailed:       FlagsUncertain,
	CodeReceiptTooLarge:         FlagsUncertain,
	CodeReceiptInvalid:          FlagsUncertain,
	CodeReceiptSessionIDMissing: FlagsUncertain,
}

// DefaultFlags returns the flags of code where no more specific rule
// applies.
func DefaultFlags(code string) Flags { return codeFlags[code] }

// Fail makes an error with the flags that its code has by default.
func Fail(code, stage, detail string) *Error {
	return FailFlags(code, stage, detail, DefaultFlags(code))
}

// FailFlags makes an error with flags by a more specific rule (an uncertain
// quota is FlagsBroken, serve's protocol_failed FlagsFinal).
func FailFlags(code, stage, detail string, f Flags) *Error {
	return &Error{Code: code, Stage: stage, Retryable: f.Retryable, UncertainEffect: f.Uncertain, Detail: detail}
}

// Certainty says whether a turn that failed can have had an effect.
type Certainty int

// The two certainties.
const (
	Certain   Certainty = iota // nothing was done: retryable
	Uncertain                  // something may have been done
)

// FailQuota makes an agent_quota_exhausted.
func FailQuota(stage, detail string, c Certainty) *Error {
	return failBy(CodeQuotaExhausted, stage, detail, c)
}

// FailTurn makes an agent_turn_failed.
func FailTurn(stage, detail string, c Certainty) *Error {
	return failBy(CodeTurnFailed, stage, detail, c)
}

func failBy(code, stage, detail string, c Certainty) *Error {
	if c == Uncertain {
		return FailFlags(code, stage, detail, FlagsBroken)
	}
	return FailFlags(code, stage, detail, FlagsRetry)
}

// FailSystem makes an error of the operating system: its flags come from
// err, its detail is err's text.
func FailSystem(code, stage string, err error) *Error {
	return FailFlags(code, stage, err.Error(), SystemFlags(err))
}

// SystemFlags: not found and permission denied no/no, a time-out yes/no,
// others yes/yes (sidecar.md §2).
func SystemFlags(err error) Flags {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return FlagsFinal
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return FlagsRetry
	}
	return FlagsBroken
}

// BadSpec makes a [*SpecError].
func BadSpec(detail string) *SpecError { return &SpecError{Detail: detail} }

// quotaTexts are the words that make an error text a quota (sidecar.md §8),
// lower case. A text that holds another as a part isn't repeated.
var quotaTexts = []string{
	"rate limit", "ratelimit", "too many requests", "resource_exhausted", "quota",
	"usage limit", "usage_limit", "spend limit", "overloaded", "at capacity",
	"capacity exceeded", "capacity exhausted", "capacity_exceeded",
	"model unavailable", "model not found", "model_not_found", "no such model",
	"model does not exist", "unsupported model",
}

// Quota reports whether text, an agent's error message, says that a quota,
// a rate limit, a capacity or a model isn't available (sidecar.md §8).
func Quota(text string) bool {
	folded := strings.ToLower(text)
	for _, word := range quotaTexts {
		if strings.Contains(folded, word) {
			return true
		}
	}
	return false
}
