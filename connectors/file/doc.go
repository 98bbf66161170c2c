// Package file reads records from the lines of a file or of a stream such as standard input, and keeps dead letters in a file.
//
// # Lines
//
// A record is a line. A line ends with "\n" or "\r\n", neither of which is part of the record; a "\r" elsewhere is. The last
// line needs no end. Empty lines are no records: they are passed over, and counted as lines. Nothing else is looked at: bytes
// that are no text come through as they are.
//
// Records have no key. A line longer than LineBytes is one broken record: its Value holds the first LineBytes + 1 bytes, so that
// its length tells, and [TooLong] turns it into an error; what follows in the line is read and dropped. So no file, whatever is in
// it, takes more memory than LineBytes and a block of 256 KiB.
//
// # Positions
//
// [Source] is replayable. A position is printable text of up to 56 bytes:
//
//	OFFSET:LINE:FINGERPRINT
//	1048627:8192:5f2a9c01d3b4e687
//
// OFFSET is the byte at which the next line begins and LINE the number of lines before it, which is also the number, from 1, of the
// line that a record with this position came from. FINGERPRINT is the 64-bit FNV-1a hash, in hexadecimal, of the file's first bytes:
// 4096, or OFFSET if that is less, so that a file that has grown still is the one that was read. [Source.Assign] refuses a
// position whose fingerprint is not that of the file, which is shorter than OFFSET, or whose OFFSET is in the middle of a line, with
// a [*ChangedError]. It notices a file that was replaced or truncated. It does not notice one that was edited in place behind its
// first 4096 bytes.
//
// [Stdin] is not replayable. Its positions, OFFSET:LINE, count from the start of the process and only serve people.
//
// # The end
//
// A source ends at the end that its file has when it gets there. A line that is being written just then is cut in two: let
// whoever writes the file finish before it is read. If more was added to such a last line, the position behind it is refused.
package file
