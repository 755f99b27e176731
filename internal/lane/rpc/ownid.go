package rpc

import (
	"crypto/rand"
	"encoding/hex"
)

// ownID makes the native id of a session that lives as long as its process:
// the resumed id or a4aa, and a random UUID (version 4).
func ownID(resume string) string {
	if resume == "" {
		resume = "a4aa"
	}
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return resume + "-" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
