package kinesis

import (
	"math/rand/v2"
	"sync"
)

// RandomKeys gives partition keys to records that have none. A key is drawn
// once, when the record is made, and stays with it through retries, snapshots and
// restores: a retry then meets the same shard, and the order key of an entry never changes.
//
// The keys are 8 letters and digits, 48 random bits; the service's MD5 spreads them
// over the shards in proportion to their hash ranges. Random explicit hash keys
// would spread no better, cost 50 more bytes a record on the wire, and leave all
// records with one partition key, by which readers such as Lambda divide the work.
//
// Its methods may be called by many goroutines at once. The zero value is not usable.
type RandomKeys struct {
	mu    sync.Mutex
	rand  *rand.Rand
	block string // drawn, not handed out yet
}

const (
	randomKeyBytes = 8
	keysPerBlock   = 64 // one allocation for so many; a key that lives long pins its block of 512 bytes
	keyAlphabet    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-"
)

// NewRandomKeys returns a source of keys. The same seed gives the same keys; 0 means a random seed.
func NewRandomKeys(seed uint64) *RandomKeys {
	stream := uint64(0)
	if seed == 0 {
		seed, stream = rand.Uint64(), rand.Uint64()
	}
	return &RandomKeys{rand: rand.New(rand.NewPCG(seed, stream))}
}

// Next returns a new key.
func (k *RandomKeys) Next() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.block == "" {
		k.block = k.draw()
	}
	key := k.block[:randomKeyBytes]
	k.block = k.block[randomKeyBytes:]
	return key
}

func (k *RandomKeys) draw() string {
	var b [randomKeyBytes * keysPerBlock]byte
	var bits uint64
	for i := range b {
		if i%randomKeyBytes == 0 {
			bits = k.rand.Uint64()
		}
		b[i] = keyAlphabet[bits%64]
		bits /= 64
	}
	return string(b[:])
}

// Record returns a record with a new key.
func (k *RandomKeys) Record(data []byte) Record {
	return Record{PartitionKey: k.Next(), Data: data}
}
