// Package agent is dragoman's provider-neutral model of an agent session:
// what opens one ([Spec], [Options]), what happens in it ([Event],
// [Question]) and how a turn ends ([Outcome] or [Error]). Every lane
// translates its dialect to this model and every face translates the model
// to its host's dialect; neither knows the other.
//
// The package holds values only. It starts nothing and keeps nothing, so its
// types may be used from any goroutine that owns them.
package agent
