package kinesistest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"time"
)

// token is what a shard iterator and a NextToken carry. Clients treat both as opaque.
type token struct {
	Kind       string `json:"k"`
	Issued     int64  `json:"i"` // Unix milliseconds
	Stream     string `json:"s"`
	Made       int64  `json:"m"`           // of the stream, so that a token does not outlive it into a namesake
	Shard      int    `json:"h"`           // iterator: the shard. List: the last one shown
	At         uint64 `json:"a,omitempty"` // iterator: position in the shard's log
	Filter     string `json:"f,omitempty"`
	FilterTime int64  `json:"x,omitempty"` // Unix milliseconds
}

const (
	iteratorKind = "iterator"
	listKind     = "list"
	tokenLife    = 300 * time.Second
)

func (t token) String() string {
	b, _ := json.Marshal(t) // strings and numbers always encode
	return base64.StdEncoding.EncodeToString(b)
}

func parseToken(s string) (t token, ok bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return token{}, false
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil || t.Shard < -1 {
		return token{}, false
	}
	return t, true
}

func (t token) expired(now time.Time) bool { return now.Sub(millisTime(t.Issued)) > tokenLife }
