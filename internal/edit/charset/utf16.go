package charset

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

func byteOrder(name string) binary.ByteOrder {
	if name == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// A utf16Decoder decodes blocks that may cut units and pairs.
type utf16Decoder struct {
	name string
	// odd is the first byte of a cut unit; high is a surrogate that waits.
	odd    []byte
	high   rune
	highAt int64
}

// pending reports whether the end has cut something.
func (d *utf16Decoder) pending() bool { return len(d.odd) > 0 || d.high != 0 }

func (d *utf16Decoder) decode(dst, b []byte, off int64) ([]byte, error) {
	order := byteOrder(d.name)
	if len(d.odd) > 0 && len(b) > 0 {
		off -= int64(len(d.odd))
		b = append(d.odd, b...)
		d.odd = nil
	}
	for ; len(b) >= 2; b, off = b[2:], off+2 {
		r := rune(order.Uint16(b))
		switch {
		case d.high != 0:
			pair := utf16.DecodeRune(d.high, r)
			if pair == utf8.RuneError {
				return nil, &UndecodableError{d.name, d.highAt}
			}
			d.high = 0
			dst = utf8.AppendRune(dst, pair)
		case !utf16.IsSurrogate(r):
			dst = utf8.AppendRune(dst, r)
		case r >= 0xDC00:
			return nil, &UndecodableError{d.name, off}
		default:
			d.high, d.highAt = r, off
		}
	}
	if len(b) > 0 {
		d.odd = []byte{b[0]}
	}
	return dst, nil
}

func appendUTF16(dst []byte, r rune, order binary.ByteOrder) []byte {
	var two [2]byte
	put := func(u rune) {
		order.PutUint16(two[:], uint16(u))
		dst = append(dst, two[:]...)
	}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		put(high)
		put(low)
		return dst
	}
	put(r)
	return dst
}
