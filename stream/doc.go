// Package stream holds the small words that sources, sinks and the runner share.
//
// A [Record] is what a user has: a key, a value, a time. A [Source] reads records. What it reads from falls into splits: a
// [Split] is a part that one reader reads in order, such as a file, a partition of a Kafka topic or a shard of a Kinesis
// stream. A position says where a split goes on behind a record. It is bytes that only its source understands: an
// offset, a sequence number, a line with a fingerprint of what is before it.
//
// A source is replayable if what it read can be read again from a position. Then no record has to be kept anywhere else to
// be safe: it is enough to know up to where everything is settled, which is the low-water mark of a split, and to go on
// reading there. Sinks settle records in another order than they were read, and [Marks] makes marks of that.
//
// # Who calls what
//
//	runner -> Source    Discover, then Assign with positions of the last checkpoint, then Read again and again
//	runner -> sink      each record; the sink gives it a sequence
//	runner -> Marks     Add with that sequence; Settle with what the sink reports; Positions for a checkpoint
//
// Only the runner knows all three. A source never learns of sequences, a sink never of positions.
package stream
