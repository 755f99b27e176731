//go:build unix && !linux

package text

func adviseHuge([]byte) {}
