// Package spill is the part of a writer's buffer that does not fit into memory: a queue of entries on disk. They go in one
// by one, in order, and come out in blocks, in the same order and as the same bytes. Memory holds a few blocks, whatever
// the queue's length, and some 40 bytes for each block of 256 KiB on disk.
//
//	Append ──▶ open block ──full──▶ waiting ──▶ current segment ──▶ segments ──Free──▶ removed
//	                │                  │               │               │
//	                └──────────────────┴───────────────┴───────────────┴── Next ──▶ the core
//
// [Log.Next] takes from the oldest segment. When all of those are fed it takes what is still in memory: while the
// destination keeps up, little of what passes through the log touches the disk. That ends the current segment, so that
// each has all entries from its first to its last.
//
// # Files
//
// A segment is a file NUMBER.segment in the log's folder: a snapshot of package statecodec with one section, which is
// whole once it is sealed. Blocks are only ever appended. A write that the disk broke off goes on where it stopped.
//
// The log is not what survives: [Open] removes what an earlier life left. What survives is what a checkpoint took over, by
// a link to the same file or a copy of it. So the log syncs nothing for its own sake, and [Policy] says who waits for the
// disk when a checkpoint does:
//
//   - [OnCheckpoint] (default): the checkpoint, for all that was written since the last one and that the system has not
//     written by itself.
//   - [Steady]: a goroutine beside the writer, each 8 MiB. The checkpoint waits for less. The disk flushes its cache more
//     often: 128 times for each GiB.
//
// # Who may call what
//
// A [Log] belongs to one goroutine at a time, the owner: the writer's executor. It writes blocks of 256 KiB to the
// system's cache and, but for [Steady], never waits for the disk itself unless the system makes it wait. Beside the owner
// run [Block.Read], [Segment.Seal], Pin and Unpin, and [Merge.Run].
//
// # Snapshots
//
// In one step the owner calls [Log.Cut], which ends the current segment, takes [Log.Segments] and pins them. Beside the
// owner the snapshot seals them, which gives each its size and CRC32C without reading it again, takes their files over,
// writes the blocks that Cut returned into its own file ([statecodec.Encoder.Block]: their bytes are not encoded again)
// and unpins. Those blocks stay in the queue, and a later segment may hold their entries as well.
//
// # Space
//
// The files never have more than Config.Bytes together, and a segment ends at an eighth of that, so that space comes
// back in the middle of an outage that heals. The owner frees a segment when the last of its entries is settled. A file
// that is pinned takes its space until it is not.
//
// When the space is used up or the disk refuses, one block waits and another is filled; then [Log.Append] refuses, and
// takes nothing. [Log.Retry] goes on.
//
// # Merging
//
// Each cut ends a segment, whatever is in it. Eight segments in a row that have been through as many merges and are all
// smaller than an eighth of Config.Segment become one ([Log.PlanMerge]); so do the fewer that are left between larger
// ones. Their blocks are copied and checked, not decoded. What has begun to be fed is left alone: its end is near. A
// checkpoint takes the new file over like any other, which on another machine means that it is sent once more.
//
// An entry is copied once for each factor of eight between the segment that it was cut in and an eighth of Config.Segment,
// and at most once more. With the default of 64 MiB and a cut each second: at 1 MiB/s twice, at 16 KiB/s four times. Files:
// up to seven for each of those factors, and two for each eighth of Config.Segment. TestADayOfCutsLeavesFewFiles measures
// both.
//
// # A sync that failed
//
// The system may have dropped what it could not write, and will say of the next sync that all is well. So a segment of
// which one failed ([Segment.Suspect], or a sync of Steady) is never sealed again: checkpoints fail until a merge has
// copied what can be read to another file, or until its entries are settled.
//
// # What it costs
//
// An entry of 1 KiB costs 90 ns (a copy and a checksum) and the system's write. BenchmarkSpill compares that with a plain
// write of as many bytes, BenchmarkFeed reading back with a plain read. Append allocates nothing once warm.
package spill
