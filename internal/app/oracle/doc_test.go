// Package oracle replays conversations with the a4aa.v1 sidecar that were
// recorded when ours and the protocol's other implementation, a4aa 0.4.2, had
// been compared without an unexplained difference. testdata/README.md says
// what is in the files. The sidecar that answers is the real one, a process
// of its own, and so are its agents.
package oracle
