// Package blobstore keeps checkpoints in an object store: Amazon S3 and what speaks its protocol, Google Cloud Storage,
// Azure Blob Storage, memory. It is a [checkpoint.Store] over gocloud.dev/blob.
//
//	import _ "gocloud.dev/blob/s3blob"
//
//	store, err := blobstore.Open(ctx, "s3://my-bucket/spillway?region=eu-central-1")
//	history, err := checkpoint.Open(ctx, store, checkpoint.Job{Name: "orders"}, checkpoint.Options{})
//
// # URLs
//
// This package brings no driver. The program imports those that it wants:
//
//	s3://BUCKET/PREFIX?region=REGION   gocloud.dev/blob/s3blob
//	gs://BUCKET/PREFIX                 gocloud.dev/blob/gcsblob
//	azblob://CONTAINER/PREFIX          gocloud.dev/blob/azureblob
//	mem://                             gocloud.dev/blob/memblob: of this process, and gone with it; each Open has its own
//
// Names are below PREFIX, which may be left out, or be written as the parameter prefix=PREFIX. The other parameters are the
// driver's; of s3blob, for instance, profile, and for other servers than Amazon's endpoint=http://127.0.0.1:9000,
// use_path_style=true, and request_checksum_calculation=when_required or response_checksum_validation=when_required if they
// don't know the newer checksums, or get those of copies wrong. Credentials come from where the driver's SDK finds them,
// never from the URL. The scheme file is refused: that driver does not sync what it writes, hence [checkpoint.Local]. [New]
// takes a bucket that was opened in another way.
//
// A program opens a bucket once: what lies in one Store is copied by the service, and between two, be they of the same URL,
// through the program.
//
// # What is promised where
//
// Two processes on one state are told apart by [checkpoint.Store.Create], which must succeed for one only. The services
// decide that themselves: S3 and Azure by If-None-Match: *, Google by ifGenerationMatch=0, memory by a lock. A request that
// is sent again, since its answer was lost, would be refused because of itself: each Create marks what it makes, and looks
// at the mark when it is refused.
//
// Some servers that speak S3 ignore the condition, and on those a process that was replaced could still publish. The first
// Create of a Store therefore calls [Store.Probe], which creates an object twice. [NotExclusiveError] says that the second
// try succeeded as well. A server that looks first and writes later, without a lock between the two, can't be found out in
// this way.
//
// [checkpoint.Store.Put] streams: what it makes is there when it returns nil, and is not if fill fails or the process ends.
// On S3 an upload holds 16 MiB in memory, and from there on parts of 8 MiB, at most 6 at a time and 10,000 in all (78 GiB).
// The parts of one that did not end are kept, invisible and paid for: give the bucket a lifecycle rule that aborts
// incomplete multipart uploads after a day. Copy is the service's own; S3 copies at most 5 GiB at once, and more goes
// through this process.
//
// The credentials need the rights to read, write, list and delete objects: without list, the services answer for what is
// not there as for what is not allowed. A bucket with versions works, and keeps each deleted object until a lifecycle rule
// ends it.
//
// # Errors
//
// Each error is an *[Error] with what was done to which object. The URLs in its text have no parameters, since those of Azure may
// be signatures. That a bucket is not there, or not to be seen, is never reported as an object that is not there.
package blobstore
