// Package kinesis writes records to Amazon Kinesis Data Streams.
//
// It is a connector for package asyncsink: the writer there batches, retries, keeps
// the order, bounds memory and saves state; this package knows PutRecords. [NewClient] makes
// a client of the AWS SDK, [NewWriter] a writer over it, [NewRecord] what goes in.
//
// # Limits
//
// A request carries up to 500 records and 10 MiB. A record may have what its stream
// allows (MaxRecordSizeInKiB: 1 MiB unless somebody raised it, 10 MiB at most), which the
// writer asks the service when it starts. All sizes count the data before base64 and the
// partition key in UTF-8; an explicit hash key costs nothing. A larger record is refused by
// Write. A limit that the service lowers later makes it refuse a request, which is then
// halved until the record that is too large stands alone and goes to the dead letters;
// one that it raises is seen at the next start.
//
// A key has 1 to 256 Unicode characters of valid UTF-8 (anything else would be changed on
// its way), an explicit hash key is a decimal number below 2^128. [NewRecord] and [Record.Validate]
// check that. A record that was accepted without it is rejected before it is sent, alone.
// Records without a key of their own get one from [RandomKeys] before they are written.
//
// # Order
//
// A request is stored record by record, each in its shard or not at all, so the service
// keeps no order within it, nor between requests. Under per-key order the writer has one
// record of a key outstanding at a time: the first occurrences of a key's records stand
// in the order in which they were written, through failures, time-outs, restarts and
// resharding. What holds it up is the round trip: a key moves on once in each. Total order
// does so with a single record, and is meant for a trickle.
//
// Refused at start, with an [*OrderError]: any order on a stream whose distribution is AUTO,
// since such a stream ignores keys; total order on a stream of several shards. When a stream is resharded
// under total order, the writer stops at the first record on another shard. A change
// to AUTO while the writer runs is not noticed.
//
// # Duplicates
//
// PutRecords has no idempotency: a request that was stored and not answered is stored
// again. Such requests are Ambiguous, and Stats counts what is sent again after one as possible duplicates. A definite
// failure never makes a duplicate, and what an answer called stored is not sent again.
// The SDK's retries are off, since they would do all of this unseen.
//
// # Errors
//
// An error is judged over its whole chain: by the service's code, else the HTTP
// status, else by how far the request came.
//
//	what happened                                      records            kind
//	throughput exceeded, throttling, KMS throttling    not stored         Throttled
//	InternalFailure of one entry                       not stored         Retry
//	no connection, no such host, no credentials now    not sent           Retry
//	stream not active, a wrong clock, unknown 4xx      not stored         Retry
//	5xx of a request, time-out, cut connection         may be stored      Ambiguous
//	success whose body breaks off, or does not fit     may be stored      Ambiguous
//	validation, too large (also 413)                   never              Rejected: request halved, record to the dead letters
//	expired token                                      not stored         CredentialExpired
//	no permission, wrong credentials or signature,
//	no such stream, KMS key unusable, not Kinesis      never              Fatal: the writer stops
//
// A failed request is a [*RequestError] with advice, a failed entry an [*EntryError]. Retry-After
// is honoured up to five minutes. Errors of whole requests are logged as warnings;
// answers of success that do not say what became of the records, as errors.
//
// Credentials that expire are obtained anew, once for all requests that carried them, and
// those go again for free; if a request with the new ones is refused as expired too, that is
// Fatal. With asyncsink's Config.Credentials the requests are signed by that source in place of the client's.
//
// Counters, in Stats.Connector: nothing_stored (answers of success that stored no record),
// unclear_answers (answers of success that do not say what became of each record), credentials_expired.
//
// # Permissions
//
// kinesis:PutRecords and kinesis:DescribeStreamSummary. Without the latter an unordered
// writer works with the limits that every stream has; an ordered one does not start.
package kinesis
