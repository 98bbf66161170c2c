// Package pipeline runs a job: records from a source, through a writer, to a
// destination, with checkpoints and restarts. It knows no connector; whoever
// does hands in a source, a conversion and a way to make the writer.
//
// # One thread
//
// A [Runner] owns a [mailbox.Loop]. Reading is a goroutine of its own that hands
// records over one lot at a time; everything else, the writer included, runs on
// the goroutine that called Run. While a write waits for room, that goroutine runs
// the loop's mails: answers, timers, a checkpoint that is due, a request to stop.
//
// # One step
//
// A checkpoint holds, and appears whole or not at all, the position
// behind the last record that the writer took and everything that the writer
// held at that moment. Both are read between two mails, so no record is in
// neither. It is written beside the job: what is new, and the names of files that earlier checkpoints wrote
// ([State] says where and how often). With [Replay] it holds low-water marks only. After a crash the source goes on
// from the position, and what was held goes first; what was delivered in between
// is delivered again. Records of a source that can't be read again are safe from
// the moment a checkpoint that holds them is complete.
//
// # Records that can't become entries
//
// A record that the conversion refuses, or that is too large, goes to the dead
// letters. Its position is passed in a checkpoint only once the output has it
// durably. Without an output the job fails there, and its position stays before
// the record.
//
// # The end
//
// At the end of all splits everything held is drained (FLIP-147), a final
// checkpoint taken and the writer closed. Stop ends reading, drains until the
// deadline and saves the rest; a second Stop saves at once.
package pipeline
