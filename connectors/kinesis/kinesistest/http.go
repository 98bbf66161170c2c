package kinesistest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	contentType  = "application/x-amz-json-1.1"
	targetPrefix = "Kinesis_20131202."
	maxBody      = 20 << 20 // MaxRequestBytes in base64, and room for escaped keys
)

// call is one request on its way through the server.
type call struct {
	op      string
	now     time.Time
	count   *counters
	body    *buffers
	in      input
	entries []entry // of PutRecords and PutRecord
	plan    plan
}

func operationOf(r *http.Request) (string, error) {
	if r.Method != http.MethodPost {
		return "", refuse("AccessDeniedException", "Unable to determine service/operation name to be authorized")
	}
	if ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(ct) != contentType {
		return "", refuse("SerializationException", "kinesistest speaks %s, not %q", contentType, ct)
	}
	op, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	if _, known := operations[op]; !ok || !known {
		return "", refuse("UnknownOperationException", "%q is not one of kinesistest's operations", r.Header.Get("X-Amz-Target"))
	}
	return op, nil
}

// buffers are the memory of one request: the body, the decoded entries and the answer. They are lent, since a
// loaded server would otherwise make a megabyte of garbage a request; nothing that outlives the request may
// point into them.
type buffers struct {
	raw     []byte
	data    []byte // decoded blobs
	entries []entry
	reply   []byte
}

var pool = sync.Pool{New: func() any { return new(buffers) }}

func borrow() *buffers { return pool.Get().(*buffers) }

func (b *buffers) giveBack() {
	clear(b.entries)
	b.raw, b.data, b.entries, b.reply = b.raw[:0], b.data[:0], b.entries[:0], b.reply[:0]
	pool.Put(b)
}

func (b *buffers) readFrom(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	body := http.MaxBytesReader(w, r.Body, maxBody)
	if n := r.ContentLength; n > 0 && n <= maxBody && int64(cap(b.raw)) <= n {
		b.raw = make([]byte, 0, n+1) // one more, so that the end is seen without growing
	}
	for {
		if len(b.raw) == cap(b.raw) {
			b.raw = append(b.raw, 0)[:len(b.raw)]
		}
		n, err := body.Read(b.raw[len(b.raw):cap(b.raw)])
		b.raw = b.raw[:len(b.raw)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// encode turns a reply or an error into status and body.
func encode(reply any, err error) (int, []byte) {
	if err != nil {
		var ae *apiError
		if !errors.As(err, &ae) {
			ae = refuse("InternalFailure", "%v", err)
		}
		return ae.status, ae.body()
	}
	switch reply := reply.(type) {
	case nil:
		return http.StatusOK, nil
	case []byte:
		return http.StatusOK, reply
	}
	b, err := json.Marshal(reply)
	if err != nil {
		return encode(nil, err)
	}
	return http.StatusOK, b
}

func send(w http.ResponseWriter, reply any, err error) {
	status, body := encode(reply, err)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// sendHalf promises the whole answer, sends half of it and breaks the connection off.
func sendHalf(w http.ResponseWriter, reply any, err error) {
	status, body := encode(reply, err)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush() // what cannot be flushed is cut even shorter
	panic(http.ErrAbortHandler)
}

// end carries out a fault that takes the place of the answer.
func end(ctx context.Context, w http.ResponseWriter, c *call, f *Fault) {
	switch f.Do {
	case FailRequest:
		c.count.failed.Add(1)
		send(w, nil, f.requestError())
		return
	case Hang:
		<-ctx.Done()
	}
	c.count.unanswered.Add(1)
	panic(http.ErrAbortHandler)
}

// wait sleeps, and breaks off when the client gives up first.
func wait(ctx context.Context, c *call, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		c.count.unanswered.Add(1)
		panic(http.ErrAbortHandler)
	}
}
