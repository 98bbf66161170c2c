package kinesistest

import (
	"fmt"
	"strconv"
)

// A sequence number has 56 decimal digits, as the service's have. The layout is our own; nobody may rely on it:
//
//	49 | 13 digits: milliseconds at which the shard was made | 12 digits: shard | 29 digits: position from 1
//
// It grows strictly within a shard, is unique within a stream, and a child shard starts above the last number
// of its parents, since it is made no earlier and its index is higher. It is computed from shard and position,
// so that storing it costs nothing.
const (
	sequencePrefix = "49"
	sequenceHead   = len(sequencePrefix) + 13 + 12
	sequenceDigits = sequenceHead + 29
)

// lastPosition stands in the number at which a closed shard ends: above every record that it holds.
const lastPosition = 1<<63 - 1

func sequenceHeadOf(madeMillis int64, shard int) string {
	return fmt.Sprintf("%s%013d%012d", sequencePrefix, max(madeMillis, 0), shard) // a test's clock may stand before 1970
}

// appendSequence appends the number at position n of the shard with the given head.
func appendSequence(dst []byte, head string, n uint64) []byte {
	const zeros = "00000000000000000000000000000"
	dst = append(dst, head...)
	var buf [20]byte
	digits := strconv.AppendUint(buf[:0], n, 10)
	dst = append(dst, zeros[:len(zeros)-len(digits)]...)
	return append(dst, digits...)
}

// parseSequence is the position of number s in the shard with the given head; ok is false when s is no number
// of that shard.
func parseSequence(s, head string) (n uint64, ok bool) {
	if len(s) != sequenceDigits || s[:sequenceHead] != head {
		return 0, false
	}
	n, err := strconv.ParseUint(s[sequenceHead:], 10, 64)
	return n, err == nil
}
