package limits

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Entries counts entries: what a destination takes, one of a batch.
type Entries int

// Requests counts requests, each of which carries one batch.
type Requests int

// Bytes is a size on the wire, keys and overhead included.
type Bytes int64

// RecordsPerSecond is a rate of entries.
type RecordsPerSecond float64

// BytesPerSecond is a rate of bytes on the wire. It is written as a size, such as 5MiB, or as a number.
type BytesPerSecond float64

// RequestsPerSecond is a rate of requests.
type RequestsPerSecond float64

// The binary multiples in which sizes are written.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

var byteUnits = []struct {
	suffix string
	factor Bytes
}{
	{"KiB", KiB}, {"MiB", MiB}, {"GiB", GiB}, {"TiB", GiB << 10},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"B", 1},
}

// ParseBytes reads a size such as "64MiB", "1.5 GiB", "500kB" or "4096":
// binary multiples have an i, decimal ones have none, a bare number is bytes.
func ParseBytes(s string) (Bytes, error) {
	num, factor := strings.TrimSpace(s), Bytes(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(num, u.suffix); ok {
			num, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	if n, err := strconv.ParseInt(num, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/int64(factor) {
		return Bytes(n) * factor, nil
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || !(f >= 0) || f*float64(factor) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size in bytes: write a number and a unit, such as 64MiB", s)
	}
	return Bytes(f * float64(factor)), nil
}

// String writes the size with the largest binary unit that divides it.
func (b Bytes) String() string {
	for _, u := range []struct {
		suffix string
		factor Bytes
	}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}} {
		if b != 0 && b%u.factor == 0 {
			return strconv.FormatInt(int64(b/u.factor), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// UnmarshalText is ParseBytes, for configuration readers.
func (b *Bytes) UnmarshalText(text []byte) error {
	v, err := ParseBytes(string(text))
	if err == nil {
		*b = v
	}
	return err
}

// MarshalText is String, for configuration writers.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a number of bytes, or a size as ParseBytes does.
func (b *BytesPerSecond) UnmarshalText(text []byte) error {
	if f, err := strconv.ParseFloat(string(text), 64); err == nil {
		*b = BytesPerSecond(f)
		return nil
	}
	v, err := ParseBytes(string(text))
	if err == nil {
		*b = BytesPerSecond(v)
	}
	return err
}
