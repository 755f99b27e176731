package core

import (
	"github.com/go-json-experiment/json/jsontext"

	"dragoman/wire/op"
)

// RunState is how far a run is.
type RunState string

// The states.
const (
	RunStateQueued  RunState = "queued"
	RunStateRunning RunState = "running"
	RunStateEnding  RunState = "ending"
	RunStateEnded   RunState = "ended"
)

// Enum lists the values.
func (RunState) Enum() []string { return []string{"queued", "running", "ending", "ended"} }

// RunInfo is what run.get tells of a run.
type RunInfo struct {
	// Run is the id.
	Run string `json:"run"`
	// Op is the operation.
	Op string `json:"op"`
	// State is how far it is.
	State RunState `json:"state"`
	// Client started it.
	Client string `json:"client"`
	// Session is the agent session that it belongs to.
	Session string `json:"session,omitzero"`
	// StartedAt is the moment of its acknowledgement.
	StartedAt Time `json:"startedAt"`
	// Result is there after a good end.
	Result jsontext.Value `json:"result,omitzero"`
	// Error is there after another end.
	Error *op.Error `json:"error,omitzero"`
}

// RunParams name a run.
type RunParams struct {
	// Run is the id.
	Run string `json:"run"`
}

// RunGet tells one run.
var RunGet = &op.Op[RunParams, RunInfo]{
	Name: "run.get", Since: 1, Effect: op.Read,
	Doc:    "tells the state of a run, until ten minutes after its end.",
	Errors: []op.Code{op.CodeNotFound},
}

// RunListResult is the result of [RunList].
type RunListResult struct {
	// Runs are those that run.get knows, the oldest first.
	Runs []RunInfo `json:"runs"`
}

// RunList tells all runs.
var RunList = &op.Op[None, RunListResult]{
	Name: "run.list", Since: 1, Effect: op.Read,
	Doc: "lists the runs that are open or ended less than ten minutes ago.",
}

// RunCancelResult is the result of [RunCancel].
type RunCancelResult struct {
	// State is ending or ended.
	State RunState `json:"state"`
}

// RunCancel ends a run.
var RunCancel = &op.Op[RunParams, RunCancelResult]{
	Name: "run.cancel", Since: 1, Effect: op.Read,
	Doc:    "ends a run early; its end comes as run.ended. It may be called again, and needs the right to call the run's own operation.",
	Errors: []op.Code{op.CodeNotFound}, Events: []string{"run.ended"},
}

// RunWatch asks for a run's bulk events.
var RunWatch = &op.Op[RunParams, None]{
	Name: "run.watch", Since: 1, Effect: op.Read,
	Doc:    "asks for the bulk events of a run that another client started.",
	Errors: []op.Code{op.CodeNotFound},
}

// RunStartedParams are the params of [RunStarted].
type RunStartedParams struct {
	// Run is the id.
	Run string `json:"run"`
	// Op is the operation.
	Op string `json:"op"`
	// Client started it.
	Client string `json:"client"`
	// Session is the agent session that it belongs to.
	Session string `json:"session,omitzero"`
}

// RunStarted tells of a new run.
var RunStarted = &op.Event[RunStartedParams]{
	Name: "run.started", Since: 1, Doc: "tells that a run began.",
}

// RunEndedParams are the params of [RunEnded].
type RunEndedParams struct {
	// Run is the id.
	Run string `json:"run"`
	// Op is the operation.
	Op string `json:"op"`
	// OK tells whether Result or Error follows.
	OK bool `json:"ok"`
	// Result is the operation's.
	Result jsontext.Value `json:"result,omitzero"`
	// Error says why there is no result.
	Error *op.Error `json:"error,omitzero"`
}

// RunEnded is the one end of a run.
var RunEnded = &op.Event[RunEndedParams]{
	Name: "run.ended", Since: 1, Doc: "tells the end of a run, with its result; no event of the run follows.",
}

// RunProgressParams are the params of [RunProgress].
type RunProgressParams struct {
	// Run is the id.
	Run string `json:"run"`
	// Done of Total.
	Done int64 `json:"done"`
	// Total is absent when it isn't known.
	Total int64 `json:"total,omitzero"`
	// Text is for people.
	Text string `json:"text,omitzero"`
}

// RunProgress tells how far a long run is.
var RunProgress = &op.Event[RunProgressParams]{
	Name: "run.progress", Since: 1, Doc: "tells how far a long run is.",
}
