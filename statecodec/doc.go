// Package statecodec turns entries into the bytes of a snapshot and back: bytes only, no store and no file.
//
// A snapshot is a [Header] and a row of sections. A [Section] says whose it is (operator), what it holds ([Kind]) and how
// to read it (codec and version). It holds blobs, which are opaque, and then entries: the bytes that a [Codec] made of
// what the user handed in, with what is known of each besides (sequence, attempts, time).
//
// [Encoder] writes a snapshot to an io.Writer and [Decoder] reads it from an io.Reader, both from start to end and in the
// memory of one block, however large the snapshot is. [Verify] reads it only to see whether it is whole, and
// [Decoder.Salvage] what is whole of one that is not.
//
// # The bytes
//
// Format version 0. Integers of fixed size are little endian, as the machines are that run this. "uvarint" and "varint" are
// those of encoding/binary: 7 bits a byte, low bits first; a varint is zig-zag coded, so that small negative numbers
// are short too. A name is a uvarint of its length and its bytes. CRC32C is CRC-32 with the Castagnoli polynomial: the
// processor computes it at 10 GB/s, hence everything has one.
//
//	snapshot = prefix header block... trailer
//
//	prefix, 20 bytes, the same in each version to come, so that each program can tell damage from a newer format:
//	   0   8  magic       89 53 50 57 0d 0a 1a 0a: no text begins with 89; a transfer that changes line ends changes it
//	   8   4  version     0
//	  12   4  length      of the header
//	  16   4  crc         CRC32C of bytes 0 to 15: a version is believed only if it is not damaged
//
//	header:
//	  20   8  checkpoint  fixed sizes first, so that they lie at the same place in a hex dump
//	  28   8  epoch
//	  36   8  time        nanoseconds since the Unix epoch
//	  44   1  flags       1: final; others must be 0
//	  45      job, instance: names
//	   -   4  crc         CRC32C of all bytes before it; not counted in length
//
//	block:
//	   0   4  crc         CRC32C of all bytes of the block behind it: first, so that it covers one run of bytes
//	   4   4  length      of the payload: skips it
//	   8   4  count       of entries; 0 in other blocks: counts a snapshot without decoding it
//	  12   1  type        1 section, 2 blob, 3 entries, 4 trailer
//	  13   3  reserved    0: for compression
//	  16      payload
//
//	section, the payload that begins one; it ends where the next begins, or the trailer:
//	   kind               byte
//	   codec version      uvarint
//	   key groups         uvarint; 0: not keyed
//	   operator, codec    names
//
//	blob: the payload is the blob's bytes. Blobs stand before the section's entries, so that a reader needs one pass.
//
//	entries: count entries, one behind the other. At most 256 KiB, which is what stays in a processor's cache between
//	copy, checksum and write; an entry that is larger stands alone.
//
//	entry, coded against the one before it in its block, the first against one of zeros: a block is read without others.
//	   flags              byte; which of the fields follow
//	                      01 writer, 02 seq, 04 key group, 08 attempts, 10 born, 40 dead; 20: unsure, no field; 80: 0
//	   writer             16 bytes; else as before
//	   seq                varint, what it is more; else 1 more
//	   key group          uvarint; else as before
//	   attempts           uvarint; else 0
//	   born               varint, what it is more; else as before: many are accepted between two looks at the clock
//	   dead               varint of what DeadAt is more than Born; class and cause, names
//	   length             uvarint
//	   data
//
//	trailer, the payload of the last block, 20 bytes; nothing follows it, and without it a snapshot is truncated:
//	   0   8  sections    how many there are
//	   8   8  entries     how many there are in all
//	  16   4  seal        CRC32C of the header's crc and the 16-byte starts of all blocks before it, in their order:
//	                      a block that is missing, doubled or elsewhere shows, though each is right in itself
//
// A fresh entry in sequence costs 3 to 5 bytes besides its data, and the writer's id once a block.
//
//	bitmap, a blob: which sequences are set. Word w is those from 64w to 64w+63, the lowest bit first, so that the words
//	of two bitmaps match. From word 0 to the last in which something is set, all words lie in runs:
//	   run                uvarint: number of words << 2 | kind
//	                      1 all clear, 2 all set, 3 mixed: the words follow, 8 bytes each
//
// No run is empty, or of the kind of the one before it, and no word of a mixed one is all clear or all set: a set has one
// encoding. Its first run leads to where it begins, however far that is. The empty set has no bytes; any other takes a
// byte or two a run and at most an eighth of a byte for each sequence of its span.
//
// # Versions
//
// [Version] is what is written; what is read is all up to it. A section of an unknown kind, or for an operator that is gone,
// is read as any other: what to do with it is for those who restore.
//
// # Damage
//
// Everything read has passed its checksum before it is looked at. All the same, no length is believed: [Caps] bound what
// one block, entry or name may take, and memory grows with the bytes that arrive. What is wrong is a *[FormatError] with
// the place and the [Fault].
//
// That each block can be read without others, and that its checksum covers its head, is what a salvage lives on: behind
// damage it goes on at the next block that is whole. What cannot be known then is whose that block is, if the start of a
// section may have been lost: such blocks are reported, and not returned.
//
// # Keys
//
// [KeyHash] and [KeyGroup] place a key. They are here since the group is a part of the state: a job that goes on with
// more writers gives each a range of the groups.
package statecodec
