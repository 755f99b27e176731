//go:build !linux

package ndjson

// WidenPipe asks for a larger pipe buffer where the system has such a call;
// here it hasn't.
func WidenPipe(any) {}
