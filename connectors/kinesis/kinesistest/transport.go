package kinesistest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
)

// Transport answers requests from memory: it calls ServeHTTP on the goroutine of RoundTrip, opens no socket and
// leaves no goroutine behind. A broken-off answer looks as it does over a socket: [io.EOF] before the first
// byte, [io.ErrUnexpectedEOF] within the body. When the request's context ends, RoundTrip returns its cause;
// what the server had applied by then stays applied.
func (s *Server) Transport() http.RoundTripper { return memoryTransport{s} }

// Client is an [http.Client] over [Server.Transport].
func (s *Server) Client() *http.Client { return s.client }

// Do makes the server itself the HTTPClient option of an AWS SDK client. It is Client().Do.
func (s *Server) Do(r *http.Request) (*http.Response, error) { return s.client.Do(r) }

type memoryTransport struct{ h http.Handler }

func (t memoryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Body != nil {
		defer r.Body.Close() // a RoundTripper's duty, even on errors
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	in := r.Clone(ctx)
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "memory"
	if in.URL.Path == "" {
		in.URL.Path = "/"
	}
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := &memoryResponse{header: http.Header{}}
	cut := serve(t.h, w, in)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if cut && w.status == 0 {
		return nil, io.EOF
	}
	return w.response(r, cut), nil
}

// serve reports whether the handler broke the connection off. Any other panic goes on: it is a defect, and a
// test should see it.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (cut bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			cut = true
		default:
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return false
}

// memoryResponse is the http.ResponseWriter of one call. The handler's bytes are copied: its buffers are lent.
type memoryResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *memoryResponse) Header() http.Header { return w.header }

func (w *memoryResponse) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *memoryResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush has nothing to do; its presence lets the handler flush as it does over a socket.
func (w *memoryResponse) Flush() { w.WriteHeader(http.StatusOK) }

func (w *memoryResponse) response(r *http.Request, cut bool) *http.Response {
	w.WriteHeader(http.StatusOK)
	length := int64(w.body.Len())
	var body io.Reader = &w.body
	if cut {
		body = io.MultiReader(&w.body, brokenOff{})
		if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
			length = n
		}
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(body), ContentLength: length, Request: r,
	}
}

type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
