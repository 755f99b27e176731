package text

import "io"

// builderBlock is the size of a builder's chunks in bytes.
const builderBlock = 4 << 20

// A Builder makes a text from UTF-8 that comes in parts, for readers that have
// to decode first. The zero Builder is ready.
type Builder struct {
	pieces []piece
	block  []byte
	// cr says that the last byte was a CR, which isn't in block yet.
	cr bool
}

var _ io.Writer = (*Builder)(nil)

// Write appends b: UTF-8 with line ends as on disk, of whole characters. It
// never fails.
func (b *Builder) Write(p []byte) (int, error) {
	for _, c := range p {
		if b.cr {
			b.cr = false
			if c == '\n' {
				b.put(CRLF)
				continue
			}
			b.put('\r')
		}
		if c == '\r' {
			b.cr = true
			continue
		}
		b.put(c)
	}
	return len(p), nil
}

func (b *Builder) put(c byte) {
	if len(b.block) >= builderBlock && isBoundary(c) {
		b.flush()
	}
	b.block = append(b.block, c)
}

func (b *Builder) flush() {
	if len(b.block) > 0 {
		b.pieces = append(b.pieces, wholePiece(copyChunk(b.block)))
		b.block = b.block[:0]
	}
}

// Text is what was written so far; the builder starts anew.
func (b *Builder) Text() Text {
	if b.cr {
		b.put('\r')
		b.cr = false
	}
	b.flush()
	t := fromPieces(b.pieces)
	b.pieces = nil
	return t
}
