// Package checkpoint keeps the snapshots of a job in a local folder, such that the last complete one survives a crash of
// the process or of the machine at any moment.
//
//	dir, err := checkpoint.OpenDir("state", checkpoint.Job{Name: "orders"})
//	last, err := dir.Latest()      // nil: a first start
//	...                            // restore from last.Open()
//	err = dir.Write(id, func(w io.Writer) error { ... a statecodec.Encoder on w ... })
//
// What a snapshot is made of is package statecodec's; whose turn it is to take one, the runner's.
//
// # The folder
//
// The state of a job lies in root/name/instance, a folder (0700) that one process has at a time:
//
//	LOCK                      locked with flock(2), which ends with the process, however that ends; its text is the process id
//	JOB                       {"name":"orders","instance":"0"}: who opens the folder under another name is refused
//	EPOCH                     the number of the last opening, as text
//	chk-00000000000000000042  checkpoint 42, complete; 20 digits, so that names sort as numbers do
//	*.tmp                     a file that is being written, or that a crash left; removed by the next opening
//
// Files are 0600. Other files may lie there and are left alone. Nothing in the folder names a path, so the root can be
// moved or copied while no process has it.
//
// # Crashes
//
// Each file is written under a temporary name, synced, renamed, and then its folder is synced. A checkpoint that has its name
// is therefore complete, and one for which [Dir.Write] returned nil is on the disk. A crash between the two may leave
// either it or the one before it as the latest. Both are right: nobody was told that it is complete, and it is.
//
// A checkpoint is one file for now, hence what the design calls a manifest is its trailer.
//
// # Two processes
//
// The lock keeps a second process out ([LockedError]). The epoch tells lives apart for those who fence by it: it is on
// the disk before [OpenDir] returns, hence no two lives have the same. Locks do not reach over all network file systems:
// keep the folder on a local one. Systems without flock are refused ([errors.ErrUnsupported]).
//
// # Damage
//
// [Dir.Latest] reads a checkpoint whole before it returns it. What it finds is one of four errors, each of which names the
// file and says what to do: [DamagedError], [statecodec.NewerError], [OtherJobError], or one of the file system (an
// *fs.PathError, wrapped). It does not choose an older checkpoint by itself, since that sends again what was settled
// since. The one before the latest is kept for a person to go back to.
package checkpoint
