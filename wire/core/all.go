package core

import "dragoman/wire/op"

// Ops lists every operation, in the order of core.md §6.
func Ops() []op.Declaration {
	return []op.Declaration{
		SessionHello, SessionSubscribe, SessionClients, SessionDetach, SessionPing, SessionStats,
		SessionDescribe, SessionShutdown,
		RunGet, RunList, RunCancel, RunWatch,
		BufferOpen, BufferNew, BufferClose, BufferList, BufferGet, BufferText, BufferEdit, BufferUndo,
		BufferRedo, BufferFind, BufferMatches, BufferReplaceAll, BufferSave, BufferReload, BufferKeep,
		BufferResolve, BufferDiff, BufferSetPath, BufferSetFormat, BufferCheckDisk, BufferRecover,
		BufferForget, BufferRecoveries,
		FsList, FsStat, FsRead, FsWrite, FsCreate, FsMkdir, FsRename, FsCopy, FsDelete, FsListTrash,
		FsRestore, FsEmptyTrash, FsGlob, FsWatch, FsUnwatch,
		ProjectOpen, ProjectClose, ProjectGet, ProjectFiles, ProjectSearch, ProjectReplace,
		ProjectApplyReplace, ProjectGetState, ProjectSetState,
		GitStatus, GitDiff, GitLog, GitShow, GitBlame, GitStage, GitUnstage, GitCommit, GitDiscard,
		GitBranches, GitSwitch, GitStash, GitWorktrees, GitFetch, GitPull, GitPush, GitClone,
		ExecRun, ExecWrite, ExecResize, ExecSignal, ExecList, ExecReadOutput,
		AgentList, AgentOpen, AgentSend, AgentCancel, AgentPermit, AgentPending, AgentGet, AgentSessions,
		AgentHistory, AgentSetOptions, AgentAuthenticate, AgentRename, AgentClose, AgentFork, AgentDelete,
		AgentAudit, AgentChanges, AgentRevert, AgentGetPolicy, AgentSetPolicy, AgentExplainPolicy,
	}
}

// Events lists every event, in the order of core.md §6.
func Events() []op.EventDeclaration {
	return []op.EventDeclaration{
		SessionAttached, SessionDetached, SessionClosing, SessionDropped,
		RunStarted, RunEnded, RunProgress,
		BufferOpened, BufferClosed, BufferSaved, BufferInfoChanged, BufferChanged,
		FsChanged, FsRescan, FsDegraded,
		ProjectMatches, ProjectEdits, ProjectOpened, ProjectClosed, ProjectStateChanged,
		GitChanged, ExecOutput,
		AgentListRefreshed, AgentMessage, AgentThought, AgentToolCall, AgentToolCallUpdate, AgentPlan,
		AgentUsage, AgentNotice, AgentRaw, AgentPrompt, AgentPermission, AgentPermitted,
		AgentSessionChanged, AgentChanged,
	}
}
