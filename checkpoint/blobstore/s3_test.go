package blobstore_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/spillway-go/spillway/checkpoint/blobstore"
)

const secret = "wJalrXUtnFEMI-K7MDENG"

// bucket answers the AWS SDK in memory, as S3 does for the few requests of these tests. It can be told to do otherwise.
type bucket struct {
	mu       sync.Mutex
	objects  map[string]object
	requests []string // "PUT chk-1 if none", in order

	broken            error
	ignoresConditions bool
	instead           func(request string, serve func() *answer) *answer // serve does what S3 does
}

type object struct {
	body []byte
	mark string
	size int // 0: that of the body
}

type answer struct {
	status int
	body   string
	header http.Header
	err    error // the connection breaks
}

func refuse(status int, code string) *answer {
	return &answer{status: status, body: "<Error><Code>" + code + "</Code><Message>" + code + " it is</Message></Error>"}
}

// store opens a bucket by the driver and the SDK that a program has.
func (b *bucket) store(t *testing.T, options ...func(*s3.Options)) *blobstore.Store {
	b.objects = map[string]object{}
	opened, err := b.open(t.Context(), options...)
	require.NoError(t, err)
	return blobstore.New(opened)
}

func (b *bucket) open(ctx context.Context, options ...func(*s3.Options)) (*blob.Bucket, error) {
	client := s3.New(s3.Options{
		Region:                     "us-east-1",
		BaseEndpoint:               aws.String("https://s3.test"),
		UsePathStyle:               true,
		Credentials:                credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", secret, ""),
		HTTPClient:                 &http.Client{Transport: b},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	}, options...)
	return s3blob.OpenBucket(ctx, client, "bucket",
		&s3blob.Options{RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired})
}

func (b *bucket) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/")
	request := r.Method + " " + key
	for _, q := range []string{"uploads", "uploadId", "list-type"} {
		if r.URL.Query().Has(q) {
			request += " " + q
		}
	}
	if r.Header.Get("If-None-Match") == "*" {
		request += " if none"
	}
	if r.Header.Get("X-Amz-Copy-Source") != "" {
		request += " copy"
	}
	b.requests = append(b.requests, request)
	serve := func() *answer { return b.serve(r, key, body) }
	if b.instead == nil {
		b.instead = func(_ string, serve func() *answer) *answer { return serve() }
	}
	a := b.instead(request, serve)
	if a.err != nil {
		return nil, a.err
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	length := int64(len(a.body))
	if r.Method == http.MethodHead && a.header.Get("Content-Length") != "" {
		_, _ = fmt.Sscan(a.header.Get("Content-Length"), &length)
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: &breaking{of: b, rest: strings.NewReader(a.body)}, ContentLength: length, Request: r,
	}, nil
}

// breaks has what is being read fail from now on.
func (b *bucket) breaks(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = err
}

type breaking struct {
	of   *bucket
	rest io.Reader
}

func (r *breaking) Read(p []byte) (int, error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.broken != nil {
		return 0, r.of.broken
	}
	return r.rest.Read(p)
}

func (r *breaking) Close() error { return nil }

func (b *bucket) serve(r *http.Request, key string, body []byte) *answer {
	o, there := b.objects[key]
	header := http.Header{
		"Content-Length":      {fmt.Sprint(max(o.size, len(o.body)))},
		"Last-Modified":       {time.Now().UTC().Format(http.TimeFormat)},
		"X-Amz-Meta-Creation": {o.mark},
	}
	switch {
	case r.URL.Query().Has("list-type"):
		return &answer{status: 200, body: b.list(r.URL.Query().Get("prefix"))}
	case r.URL.Query().Has("uploads"):
		return &answer{status: 200, body: "<Upload><UploadId>1</UploadId></Upload>"}
	case r.URL.Query().Has("uploadId"):
		return &answer{status: 200, header: http.Header{"Etag": {`"1"`}}}
	case r.Method == http.MethodPut:
		if there && r.Header.Get("If-None-Match") == "*" && !b.ignoresConditions {
			return refuse(412, "PreconditionFailed")
		}
		b.objects[key] = object{body: body, mark: r.Header.Get("X-Amz-Meta-Creation")}
		return &answer{status: 200}
	case r.Method == http.MethodDelete:
		delete(b.objects, key)
		return &answer{status: 204}
	case !there && r.Method == http.MethodHead:
		return &answer{status: 404}
	case !there:
		return refuse(404, "NoSuchKey")
	case r.Method == http.MethodHead:
		return &answer{status: 200, header: header}
	}
	return &answer{status: 200, header: header, body: string(o.body)}
}

func (b *bucket) list(prefix string) string {
	type contents struct {
		Key          string
		Size         int
		LastModified string
	}
	var listed struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []contents
	}
	for key, o := range b.objects {
		if strings.HasPrefix(key, prefix) {
			listed.Contents = append(listed.Contents, contents{key, len(o.body), time.Now().UTC().Format(time.RFC3339)})
		}
	}
	slices.SortFunc(listed.Contents, func(a, b contents) int { return strings.Compare(b.Key, a.Key) }) // not as S3 does
	text, _ := xml.Marshal(listed)
	return string(text)
}

// asked are the requests that hold all of words.
func (b *bucket) asked(words ...string) (found []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, request := range b.requests {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(request, w) }) {
			found = append(found, request)
		}
	}
	return found
}

func read(ctx context.Context, s *blobstore.Store, name string) ([]byte, error) {
	r, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func fill(size int, then error) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := w.Write(bytes.Repeat([]byte("x"), size)); err != nil {
			return err
		}
		return then
	}
}
