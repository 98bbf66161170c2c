// Package checkpoint keeps the checkpoints of a job in a [Store], a folder or a bucket, such that the last complete one
// survives whatever fails: the process, the machine, the store in the middle of a call, or a second process.
//
//	s, err := checkpoint.OpenLocal("state")
//	h, err := checkpoint.Open(ctx, s, checkpoint.Job{Name: "orders"}, checkpoint.Options{})
//	last, err := h.Newest(ctx)              // nil: a first start
//	...                                     // restore from last.Open(ctx, last.State())
//	err = h.RestoredFrom(last, checkpoint.Continue)
//	c, err := h.Write(ctx, func(ctx context.Context, d *checkpoint.Draft) error {
//		...                                 // name the older files that are still needed: d.Share(f)
//		_, err := d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error { ... }) // what is new
//		return err
//	})
//
// What data files hold is package statecodec's; whose turn it is to write a checkpoint, the runner's. [List], [Jobs] and
// [At] are for tools: they read only, and take no lock.
//
// # The layout
//
// The state of a job lies under NAME/INSTANCE/ in the store. One process has it at a time:
//
//	chk-00000000000000000042  slot 42: a manifest, or an epoch record; 20 digits, so that names sort as numbers do
//	data/3-17                 a data file, the 17th that epoch 3 began; never changed, and no name is given twice
//	LOCK                      where the store has locks
//
// The slots are a log. Each is created, once, at the number after the last one, and of many that create it one succeeds
// ([Store.Create]). An epoch record says that a process opened the state, and is where that one's slots begin. A manifest
// says what a checkpoint is made of. Other objects may lie there and are left alone.
//
// A checkpoint is one state file, which its own Write made, and any number of log files, which it shares with other
// checkpoints. Nothing counts references: a data file lives while a manifest names it. Names are relative to the job's
// folder, so a root can be moved or copied while no process has it.
//
// # A manifest
//
// A manifest is text: JSON, and a last line with the CRC32C of all bytes before it. That line and "format" stay the same in
// each version to come, so that each program can tell damage from a newer format.
//
//	{
//	  "format": 0,
//	  "kind": "checkpoint",                  or "epoch", which has no files
//	  "program": "v1.2.3",
//	  "statecodec": 0,                       the newest format of its data files
//	  "job": "orders",
//	  "instance": "0",
//	  "id": 42,                              that of its slot
//	  "epoch": 3,                            the life of the process that wrote it
//	  "time": "2026-09-30T12:00:00.123456789Z",
//	  "final": true,                         that life sent nothing afterwards
//	  "ownership": "owned",
//	  "lineage": {
//	    "restored_from": {                   what that life began with
//	      "name": "orders/0/chk-00000000000000000040",
//	      "id": 40,
//	      "crc32c": "deadbeef",
//	      "mode": "no-claim"
//	    },
//	    "keep": [7, 40]                      checkpoints that are never deleted, each on a line
//	  },
//	  "key_groups": {"first": 0, "last": 63, "of": 128},
//	  "operators": [{"name": "kinesis", "kind": "buffer", "codec": "kinesis.record", "codec_version": 1,
//	    "key_groups": 128, "entries": 5, "bytes": 500}],
//	  "entries": 5,                          held, in all files
//	  "files": [
//	    {"name": "data/3-17", "size": 800, "crc32c": "0a1b2c3d", "role": "state", "entries": 2},
//	    {"name": "data/3-2", "size": 67108864, "crc32c": "00000001", "role": "log", "entries": 1000}
//	  ]
//	}
//	crc32c: cc0c90ef
//
// Fields that a reader does not know are ignored; a newer format is refused by name ([statecodec.NewerError]).
//
// # Crashes
//
// [History.Write] puts the data files, looks whether the store has them in their sizes, and creates the manifest last.
// A checkpoint whose manifest is there is therefore complete, and one for which Write returned nil is durable. A crash
// between the two may leave either it or the one before it as the newest. Both are right: nobody was told that it is
// complete, and it is.
//
// A creation whose answer is lost, or which is still under way when its context ends, may take effect at any time. Its
// number decides: the next Write or [History.Sweep] creates an epoch record there. If that succeeds, the manifest never
// will, and its files are deleted; else it is complete. Until then its files stay.
//
// After each checkpoint those are deleted that newer ones have taken the place of ([Options].Retained), and old epoch
// records: first the slots, then the data files that no other slot names. What a crash, or a store that fails, leaves
// behind costs room and nothing else; Sweep removes it.
//
// # Two processes
//
// Where the store is a [Locker], its lock keeps a second process out ([LockedError]). Others have epochs alone: to open the
// state is to take it over. A process that comes back from a long pause finds its next slot taken, or, since retention may
// have deleted that slot, sees a higher epoch when it lists the slots after its creation. Either way its Write ends with a
// [StaleEpochError]. A manifest that it created before the other opened is what that one began with. One that it creates
// later lies below the newer slots, or above a higher epoch; it is the newest for nobody, and the other deletes it.
//
// So a stale process cannot publish. It may still be in the middle of its last deletions, of which none is of the newest
// checkpoint: before an older one is restored by its number, be sure that the old process is gone.
//
// # Damage
//
// A manifest that cannot be read, and a file that is missing or not as it was written, are a [DamagedError], which names the
// file and says what to do. Nothing older is taken unasked, since that sends again what was settled since: a person moves
// the damaged manifest away, or restores an older checkpoint by its number. While a manifest cannot be read, nothing is
// deleted, since nobody knows what it names ([History.PruneError] says so). Newest and Find look at the sizes of all files;
// [Checkpoint.Verify] reads them. Write does so for sizes as well, so a store that says that it has what it has not is
// found out before a checkpoint depends on it.
//
// # Whose a checkpoint is
//
// Checkpoints are the job's own, which deletes them. Who restores one says how ([Mode]): a restart continues with its own
// newest; [Claim] takes one over, also from a job that has ended; [NoClaim] leaves it alone for ever, so that the next
// checkpoint shares nothing with it and copies what it needs ([Draft.CopyFrom]; in a folder or within a bucket no bytes are
// moved).
package checkpoint
