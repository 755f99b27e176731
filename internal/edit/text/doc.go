// Package text is the text store: immutable snapshots of UTF-8 text of any
// size, edited in microseconds wherever the edit lands (core.md §5).
//
// A [Text] is a value: a B+tree of pieces, each a run of bytes in a chunk that
// never changes. The chunk of a file that was read is one block of memory off
// the Go heap, released when the last text that refers to it is collected.
// Inserted text goes to append blocks. Each chunk has the counts of line ends
// and of UTF-16 and UTF-32 units every 2 KiB, each tree node those of what is
// below it; so a position in any of the three units is found in
// O(log pieces + 2 KiB), in a file of one 1 GiB line too.
//
// # Line ends
//
// Lines end at LF or CR LF only. In the store each line end is one byte: LF is
// '\n' and CR LF is [CRLF], a byte that UTF-8 never holds. So an offset in the
// store is the offset in the text as the wire shows it (with '\n' alone), no
// edit can split a line end, a CR that an edit leaves before an LF stays
// content, and each line keeps its own end. [Text.AppendWire] gives the wire's
// form, [Text.AppendDisk] and [Text.WriteTo] the file's.
//
// # Coordinates
//
// An offset is a count of bytes from the start of the text, in the store's
// form. A [Position] is a 0-based line and a 0-based character in a [Unit].
// Ranges are half-open.
//
// # Concurrency
//
// A Text may be read by any number of goroutines. A [Store] has one owner at a
// time; [Store.Snapshot] is what it hands to others. Taking a snapshot is O(1);
// the next edit then copies the few nodes on its path.
package text
