package kinesis

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Record is one entry of a stream. It must not be changed once a writer has accepted it.
type Record struct {
	// PartitionKey decides the shard, by its MD5, and the place in the order under
	// per-key order. 1 to 256 Unicode characters of valid UTF-8; see [RandomKeys] for
	// records that have none of their own.
	PartitionKey string
	// ExplicitHashKey, when set, decides the shard instead: a decimal number from 0 to
	// 2^128-1 without leading zeros. Records of one PartitionKey whose explicit hash keys
	// lie on different shards have no order among them.
	ExplicitHashKey string
	// Data is what a reader gets. It may be empty.
	Data []byte
}

const (
	maxKeyCharacters = 256
	maxHashKey       = "340282366920938463463374607431768211455" // 2^128-1
)

// NewRecord makes a record and checks its key. The error is a [*RecordError].
func NewRecord(key string, data []byte) (Record, error) {
	r := Record{PartitionKey: key, Data: data}
	return r, r.Validate()
}

// NewRecordAt is NewRecord with an explicit hash key.
func NewRecordAt(hashKey, key string, data []byte) (Record, error) {
	r := Record{PartitionKey: key, ExplicitHashKey: hashKey, Data: data}
	if hashKey == "" { // left out of a Record, it means none
		return r, errors.Join(r.Validate(), hashKeyFault(hashKey))
	}
	return r, r.Validate()
}

// Validate reports every rule of the service that the keys break, each as a
// [*RecordError]. Call it when a record arrives: the submitter calls it too, but
// then the record has been accepted and its fault ends in the dead letters.
// Whether the record is too large is the writer's to say.
func (r Record) Validate() error {
	if validKey(r.PartitionKey) && (r.ExplicitHashKey == "" || validHashKey(r.ExplicitHashKey)) {
		return nil
	}
	var errs []error
	switch k := r.PartitionKey; {
	case !utf8.ValidString(k):
		errs = append(errs, &RecordError{"partition_key", shown(k), "valid UTF-8, since anything else is changed on the way"})
	case !validKey(k):
		errs = append(errs, &RecordError{"partition_key", shown(k), "1 to 256 Unicode characters"})
	}
	if k := r.ExplicitHashKey; k != "" && !validHashKey(k) {
		errs = append(errs, hashKeyFault(k))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func validKey(k string) bool {
	return k != "" && (len(k) <= maxKeyCharacters || utf8.RuneCountInString(k) <= maxKeyCharacters) && utf8.ValidString(k)
}

func validHashKey(k string) bool {
	if k == "" || len(k) > len(maxHashKey) || k[0] == '0' && k != "0" {
		return false
	}
	for i := range len(k) {
		if k[i] < '0' || k[i] > '9' {
			return false
		}
	}
	return len(k) < len(maxHashKey) || k <= maxHashKey // of equal length, digits compare as numbers
}

// Size is what the service counts of a record against its limits: the bytes of
// the key in UTF-8 and of the data, before base64.
func (r Record) Size() int { return len(r.PartitionKey) + len(r.Data) }

// RecordError is a record that breaks a rule of the service. It can never be stored.
type RecordError struct {
	Field string // partition_key or explicit_hash_key
	Value string // quoted; its beginning, if it is long
	Bound string // what is allowed
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("kinesis record: %s: %s: must be %s", e.Field, e.Value, e.Bound)
}

func hashKeyFault(k string) error {
	return &RecordError{"explicit_hash_key", shown(k), "a decimal number from 0 to 2^128-1, without leading zeros"}
}

// shown quotes a value for a message, which a key of a megabyte must not fill.
func shown(v string) string {
	const most = 64
	if len(v) <= most {
		return strconv.Quote(v)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(v[cut]) {
		cut--
	}
	return fmt.Sprintf("%q... (%d characters)", v[:cut], utf8.RuneCountInString(v))
}
