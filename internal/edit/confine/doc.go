// Package confine keeps paths inside the roots (core.md §6 "fs"): every symbolic
// link is followed, and what it leads to must lie in a root.
//
// Following and using are two steps, and between them anybody may swap a folder
// for a link. So the first step only finds the real path, which may be anywhere
// ([Roots.Resolve]); the second one walks that path again from a root's folder,
// which is held open, one component after the other by openat ([os.Root]), and
// refuses whatever would lead out ([Roots.Follow], [Roots.Place]). A link that
// leads out and back in, or is absolute, is gone after the first step; one that
// was put there since can lead to another place of the same root at most.
//
// # Concurrency
//
// [Roots] and [Files] may be used from any goroutine; a [Place] by one.
package confine
