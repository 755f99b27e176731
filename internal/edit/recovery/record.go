package recovery

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/go-json-experiment/json"

	"dragoman/internal/edit/text"
)

// The kinds of records.
const (
	kindHeader  = 'H' // the Header as JSON
	kindContent = 'C' // the whole text starts anew with these bytes
	kindKept    = 'K' // the same, by Keep: it stands for itself
	kindMore    = 'B' // more bytes of it
	kindEdit    = 'E' // start, end and text of one edit
)

// maxRecord is the longest record that reading believes in, in bytes.
const maxRecord = 1 << 31

// contentPart is how much of a text one record holds, in bytes.
const contentPart = 1 << 20

var errTorn = errors.New("record is torn")

// appendRecord appends kind, length, payload and checksum.
func appendRecord(dst []byte, kind byte, payload ...[]byte) []byte {
	n, sum := 0, uint32(0)
	for _, p := range payload {
		n += len(p)
		sum = crc32.Update(sum, crc32.IEEETable, p)
	}
	dst = binary.AppendUvarint(append(dst, kind), uint64(n))
	for _, p := range payload {
		dst = append(dst, p...)
	}
	return binary.LittleEndian.AppendUint32(dst, sum)
}

func appendEdit(dst []byte, e text.Edit) []byte {
	var at [2 * binary.MaxVarintLen64]byte
	b := binary.AppendUvarint(at[:0], uint64(e.Start))
	b = binary.AppendUvarint(b, uint64(e.End))
	return appendRecord(dst, kindEdit, b, e.Text)
}

func parseEdit(b []byte) (text.Edit, error) {
	start, n := binary.Uvarint(b)
	if n <= 0 {
		return text.Edit{}, errTorn
	}
	end, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return text.Edit{}, errTorn
	}
	return text.Edit{Start: int(start), End: int(end), Text: b[n+m:]}, nil
}

// readRecord reads one record. io.EOF at a clean end, errTorn at any other.
func readRecord(r *bufio.Reader) (kind byte, payload []byte, err error) {
	kind, err = r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(r)
	if err != nil || n > maxRecord {
		return 0, nil, errTorn
	}
	payload, err = io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil || uint64(len(payload)) < n {
		return 0, nil, errTorn
	}
	var sum [4]byte
	if _, err := io.ReadFull(r, sum[:]); err != nil || binary.LittleEndian.Uint32(sum[:]) != crc32.ChecksumIEEE(payload) {
		return 0, nil, errTorn
	}
	return kind, payload, nil
}

// read gives the header and the number of edits, and each content and edit to
// the callbacks, which may be nil.
func read(in io.Reader, content func(kind byte, b []byte), edit func(text.Edit) error) (h Header, edits int, err error) {
	r := bufio.NewReaderSize(in, 64<<10)
	for n := 0; ; n++ {
		kind, payload, err := readRecord(r)
		if err == io.EOF || err == errTorn && n > 0 {
			if n == 0 {
				err = errTorn
			} else {
				err = nil
			}
			return h, edits, err
		}
		if err != nil {
			return h, edits, err
		}
		switch kind {
		case kindHeader:
			if err := json.Unmarshal(payload, &h); err != nil {
				return h, edits, err
			}
		case kindContent, kindKept, kindMore:
			if kind != kindMore {
				edits = 0
			}
			if content != nil {
				content(kind, payload)
			}
		case kindEdit:
			e, err := parseEdit(payload)
			if err != nil {
				return h, edits, err
			}
			edits++
			if edit == nil {
				continue
			}
			if err := edit(e); err != nil {
				return h, edits, err
			}
		}
	}
}

// headerLen is the length of the header record at the start of b; 0 if there
// is none.
func headerLen(b []byte) int {
	if len(b) == 0 || b[0] != kindHeader {
		return 0
	}
	n, k := binary.Uvarint(b[1:])
	return 1 + k + int(n) + crc32.Size
}

// contentOf gives the last whole text that a log holds.
func contentOf(in io.Reader) (c Content, err error) {
	var raw []byte
	_, _, err = read(in, func(kind byte, b []byte) {
		if kind != kindMore {
			raw, c.Kept = raw[:0], kind == kindKept
		}
		raw, c.OK = append(raw, b...), true
	}, nil)
	if err != nil || !c.OK {
		return Content{}, err
	}
	s := text.NewStore(text.Text{}, 0)
	err = s.Apply([]text.Edit{{Text: raw}}, text.Step{})
	c.Text = s.Snapshot()
	return c, err
}
