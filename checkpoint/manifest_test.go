package checkpoint

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

// sample uses all fields.
func sample() *Manifest {
	return &Manifest{
		Kind: KindCheckpoint, Program: "v1.2.3", Job: "orders", Instance: "0", ID: 42, Epoch: 3,
		Time: time.Date(2026, 9, 30, 12, 0, 0, 123456789, time.UTC), Final: true, Ownership: Owned,
		Lineage: Lineage{
			RestoredFrom: &Origin{Name: "orders/0/chk-00000000000000000040", ID: 40, CRC32C: 0xdeadbeef, Mode: NoClaim},
			Keep:         []uint64{7, 40},
		},
		KeyGroups: KeyGroups{First: 0, Last: 63, Of: 128},
		Operators: []Operator{{Name: "kinesis", Kind: "buffer", Codec: "kinesis.record", CodecVersion: 1, KeyGroups: 128, Entries: 5, Bytes: 500}},
		Entries:   5,
		Files: []File{
			{Name: "data/3-17", Size: 800, CRC32C: 0x0a1b2c3d, Role: RoleState, Entries: 2},
			{Name: "data/3-2", Size: 67108864, CRC32C: 1, Role: RoleLog, Entries: 1000},
		},
	}
}

// As drawn in the package comment.
const drawn = `{
  "format": 0,
  "kind": "checkpoint",
  "program": "v1.2.3",
  "statecodec": 0,
  "job": "orders",
  "instance": "0",
  "id": 42,
  "epoch": 3,
  "time": "2026-09-30T12:00:00.123456789Z",
  "final": true,
  "ownership": "owned",
  "lineage": {
    "restored_from": {
      "name": "orders/0/chk-00000000000000000040",
      "id": 40,
      "crc32c": "deadbeef",
      "mode": "no-claim"
    },
    "keep": [
      7,
      40
    ]
  },
  "key_groups": {
    "first": 0,
    "last": 63,
    "of": 128
  },
  "operators": [
    {
      "name": "kinesis",
      "kind": "buffer",
      "codec": "kinesis.record",
      "codec_version": 1,
      "key_groups": 128,
      "entries": 5,
      "bytes": 500
    }
  ],
  "entries": 5,
  "files": [
    {
      "name": "data/3-17",
      "size": 800,
      "crc32c": "0a1b2c3d",
      "role": "state",
      "entries": 2
    },
    {
      "name": "data/3-2",
      "size": 67108864,
      "crc32c": "00000001",
      "role": "log",
      "entries": 1000
    }
  ]
}
`

// sealed is a text with the last line that it needs.
func sealed(text string) []byte {
	return fmt.Appendf([]byte(text), "crc32c: %08x\n", crc32.Checksum([]byte(text), castagnoli))
}

func TestAManifestIsTextThatAPersonCanRead(t *testing.T) {
	e, err := sample().encode()
	require.NoError(t, err)
	require.Equal(t, string(sealed(drawn)), string(e.text))
	require.Equal(t, "crc32c: cc0c90ef\n", string(e.text[len(drawn):]))
	m, sum, _, err := decode(e.text)
	require.NoError(t, err)
	require.Equal(t, sample(), m)
	require.Equal(t, e.crc, sum)
	require.Equal(t, int64(800+67108864), m.Bytes())
	require.Equal(t, "data/3-17", m.State().Name)
	require.Empty(t, (&Manifest{}).State())
}

func TestEachByteThatIsFlippedOrMissingIsSeen(t *testing.T) {
	whole := sealed(drawn)
	for i := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			_, _, _, err := decode(b)
			require.Error(t, err, "byte %d bit %d", i, bit)
		}
		_, _, _, err := decode(whole[:i])
		require.Error(t, err, "%d bytes", i)
		_, _, _, err = decode(append(bytes.Clone(whole[:i]), whole[i+1:]...))
		require.Error(t, err, "without byte %d", i)
	}
	_, _, _, err := decode(append(bytes.Clone(whole), '\n'))
	require.Error(t, err)
}

func TestUnknownFieldsAreIgnoredAndANewerFormatIsNamed(t *testing.T) {
	m, _, _, err := decode(sealed(strings.Replace(drawn, `"kind"`, `"moons": {"of": [1, {"jupiter": null}]}, "kind"`, 1)))
	require.NoError(t, err)
	require.Equal(t, sample(), m)

	_, _, _, err = decode(sealed(`{"format": 7, "kind": {"no": "string"}}` + "\n"))
	var newer *statecodec.NewerError
	require.ErrorAs(t, err, &newer)
	require.Equal(t, statecodec.NewerError{What: "checkpoint manifest", Found: 7, Supported: Format}, *newer)
}

func TestAManifestThatMakesNoSenseIsRefusedByReadersAndWriters(t *testing.T) {
	for want, change := range map[string]func(m *Manifest){
		"kind: savepoint: must be checkpoint or epoch":    func(m *Manifest) { m.Kind = "savepoint" },
		"ownership: mine: must be owned":                  func(m *Manifest) { m.Ownership = "mine" },
		"id: 0: must be 1 to 2^62-1":                      func(m *Manifest) { m.ID = 0 },
		"epoch: 4611686018427387904: must be 1 to 2^62-1": func(m *Manifest) { m.Epoch = 1 << 62 },
		`name: "a/b"`:                                      func(m *Manifest) { m.Job = "a/b" },
		"key_groups: {3 2 4}: must be a range":             func(m *Manifest) { m.KeyGroups = KeyGroups{3, 2, 4} },
		"key_groups: {0 4 4}":                              func(m *Manifest) { m.KeyGroups = KeyGroups{0, 4, 4} },
		"operators: 4097: must be at most 4096":            func(m *Manifest) { m.Operators = make([]Operator, 4097) },
		"lineage.keep: 2 numbers":                          func(m *Manifest) { m.Lineage.Keep = []uint64{2, 1} },
		`lineage.restored_from: "../orders/0/chk-`:         func(m *Manifest) { m.Lineage.RestoredFrom.Name = "../" + m.Lineage.RestoredFrom.Name },
		`lineage.restored_from: "orders/0/chk-`:            func(m *Manifest) { m.Lineage.RestoredFrom.ID++ },
		`lineage.restored_from.mode: "": must be continue`: func(m *Manifest) { m.Lineage.RestoredFrom.Mode = "" },
		"files: 32769: must be at most 32768":              func(m *Manifest) { m.Files = make([]File, 32769) },
		`files: name: "data/../LOCK"`:                      func(m *Manifest) { m.Files[1].Name = "data/../LOCK" },
		`files: name: "/data/1-1"`:                         func(m *Manifest) { m.Files[1].Name = "/data/1-1" },
		`files: name: "data/3-17"`:                         func(m *Manifest) { m.Files[1].Name = "data/3-17" },
		`files: name: "chk-00000000000000000001"`:          func(m *Manifest) { m.Files[1].Name = slotName(1) },
		"files: data/3-2: size: -1: must be 0 to 2^47":     func(m *Manifest) { m.Files[1].Size = -1 },
		"files: data/3-2: size: 9223372036854775807":       func(m *Manifest) { m.Files[1].Size = math.MaxInt64 },
		`files: data/3-2: role: "": must be state or log`:  func(m *Manifest) { m.Files[1].Role = "" },
		"files: 0 of role state: must be one":              func(m *Manifest) { m.Files = nil },
		"files: 2 of role state: must be one":              func(m *Manifest) { m.Files[1].Role = RoleState },
		"files: 1 of role state: must be one in a":         func(m *Manifest) { m.Kind = KindEpoch },
	} {
		m := sample()
		change(m)
		_, err := m.encode()
		require.ErrorContains(t, err, want)
	}
	for _, change := range []func(m *Manifest){
		func(m *Manifest) { m.Program = "\xff" },
		func(m *Manifest) { m.Operators[0].Codec = "\xff" },
		func(m *Manifest) { m.Lineage.RestoredFrom.Store = "\xff" },
		func(m *Manifest) { m.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		func(m *Manifest) { m.Operators[0].Name = strings.Repeat("n", maxManifest) },
		func(m *Manifest) { m.Operators[0].Name = strings.Repeat(",", maxValues+1) },
	} {
		m := sample()
		change(m)
		_, err := m.encode()
		require.Error(t, err)
	}
	m := sample()
	m.Kind, m.Ownership, m.ID = "", "", 0
	_, err := m.encode()
	require.ErrorContains(t, err, "kind: ")
	require.ErrorContains(t, err, "ownership: ", "all faults at once")
	require.ErrorContains(t, err, "id: 0")

	for text, at := range map[string]int64{
		`{"format": 0` + "\n":                              13,
		`[]` + "\n":                                        1,
		`{"format": -1}` + "\n":                            13,
		strings.Replace(drawn, "800", `"800"`, 1):          int64(strings.Index(drawn, "800") + 5),
		strings.Replace(drawn, "0a1b2c3d", "0A", 1):        0,
		strings.Replace(drawn, "data/3-2", "data/3-02", 1): 0,
	} {
		_, _, offset, err := decode(sealed(text))
		require.ErrorContains(t, err, "the checksum is right and the text is no manifest: ")
		require.Equal(t, at, offset, text)
	}
	_, _, _, err = decode([]byte(oldMagic + "and so on"))
	require.ErrorContains(t, err, "an older development version wrote it")
}

// A reader takes little memory, whatever a hostile manifest of the largest size says.
func TestReadingAHostileManifestTakesBoundedMemory(t *testing.T) {
	fill := func(begin, part string) []byte {
		return sealed(begin + strings.Repeat(part, (maxManifest-len(begin)-100)/len(part)) + "\n")
	}
	for _, b := range [][]byte{
		fill(`{"files": [`, `{},`), fill(`{"files": [`, `null,`), fill(`{"lineage": {"keep": [`, `1,`), fill(`{"operators": [`, `{},`),
		fill(`{"x": `, `[`), fill(`{"x": `, `{"x":`), fill(`{"job": "`, `a`), fill(``, `{`), fill(``, ` `),
		make([]byte, maxManifest+1),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _, err := decode(b)
		runtime.ReadMemStats(&after)
		require.Error(t, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(drawn))
	f.Add([]byte(`{"kind":"epoch","job":"orders","id":1,"epoch":1,"ownership":"owned"}` + "\n"))
	f.Add([]byte(`{"format":1}` + "\n"))
	f.Add([]byte(oldMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, sealed(string(b))} { // the second gets past the checksum
			m, _, at, err := decode(b)
			if err != nil {
				require.Nil(t, m)
				require.LessOrEqual(t, at, int64(len(b)))
				continue
			}
			for _, f := range m.Files {
				require.Regexp(t, `^data/(0|[1-9][0-9]*)-(0|[1-9][0-9]*)$`, f.Name)
			}
			e, err := m.encode()
			require.NoError(t, err, "what can be read can be written")
			again, _, _, err := decode(e.text)
			require.NoError(t, err)
			require.True(t, m.Time.Equal(again.Time))
			again.Time = m.Time
			require.Equal(t, m, again)
		}
	})
}

func TestACRCIsEightDigits(t *testing.T) {
	for _, text := range []string{"", "0", "0a1b2c3", "0a1b2c3d0", "0A1B2C3D", "0x1b2c3d", " a1b2c3d", "-a1b2c3d"} {
		require.Error(t, new(CRC).UnmarshalText([]byte(text)), text)
	}
}
