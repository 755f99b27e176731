// Package lanetest is the suite that every lane passes, and what tests of
// lanes are built from: a [Starter] whose agents are functions of the test
// instead of processes, and a [Sink] that records.
//
// # How a lane uses it
//
// Write a fake agent of the dialect as a [Program]. It reads its stdin, finds
// one of the words of this package in the prompt ([Echo], [Chunks], …) and
// does what the word says. Then:
//
//	func TestSuite(t *testing.T) {
//		lanetest.Run(t, lanetest.Harness{
//			Driver: mylane.Driver{},
//			Spec:   func(b lanetest.Opening) *agent.Spec { … },
//			Agent:  fakeAgent,
//			Lacks:  lanetest.Lacks{Questions: true},
//		})
//	}
//
// Every case runs in a synctest bubble: time is fake, so cases about clocks
// cost nothing, and a goroutine that outlives its case fails it by name. A
// lane that does network I/O can't run in a bubble: set Harness.RealTime.
//
// # What the words ask of the fake
//
// An agent that gets [Echo] answers `echo: ` and the prompt. [Chunks] is
// answered with the numbers from 0 to [ChunkCount]-1, each followed by a
// blank, each its own message. [Ask] makes it report a tool call with the id
// [CallID], ask permission with the options that [Harness.Allow] and
// [Harness.Reject] name, and say [Granted], [Refused] (for a cancelled
// question, too), or anything else for an answer that it didn't offer. [Hang] says
// [Working] and then nothing until it is cancelled; then it ends the turn the
// way its dialect does for a cancel. [Deaf] says [Working] and never ends
// the turn, cancel or not. [Crash] says [Partial], writes [LastWords] to
// stderr and exits with [CrashCode].
package lanetest
