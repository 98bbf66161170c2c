package kinesis

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/spillway-go/spillway/asyncsink"
)

// verdict is what an error means: for the records, and for the person who reads it.
type verdict struct {
	kind   asyncsink.Kind
	advice string
}

// classify judges a failed request over its whole chain, and returns the service's
// code if it gave one. What is not known to have failed before it was sent, or
// to have been refused, is Ambiguous: the service may have stored it.
func classify(err error) (v verdict, code string) {
	if _, ok := errors.AsType[*credentialsError](err); ok {
		return verdict{asyncsink.Retry, "no AWS credentials could be obtained: set AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY, a profile or a role, or check the one that is set"}, ""
	}
	if api, ok := find(err, func(e smithy.APIError) bool { return codes[e.ErrorCode()].kind != asyncsink.Delivered }); ok {
		code = api.ErrorCode()
		return codeVerdict(code, api.ErrorMessage(), skewed(err)), code
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != unknownCode {
		code = api.ErrorCode()
	}
	if r, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok && r.HTTPStatusCode() != 0 {
		return statusVerdict(r.HTTPStatusCode()), code
	}
	if neverSent(err) {
		return verdict{asyncsink.Retry, ""}, code
	}
	if _, ok := errors.AsType[smithy.InvalidParamsError](err); ok {
		return verdict{asyncsink.Rejected, ""}, code
	}
	return verdict{asyncsink.Ambiguous, ""}, code
}

// unknownCode is what the SDK says when an answer other than 2xx has no code.
const unknownCode = "UnknownError"

// find is errors.As that goes on past errors which accept does not want.
func find[T any](err error, accept func(T) bool) (found T, ok bool) {
	if t, is := err.(T); is && accept(t) {
		return t, true
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if next := u.Unwrap(); next != nil {
			return find(next, accept)
		}
	case interface{ Unwrap() []error }:
		for _, next := range u.Unwrap() {
			if found, ok = find(next, accept); ok {
				return found, true
			}
		}
	}
	return found, false
}

// codeVerdict is a code's verdict from the table, looked into where a code means several things.
func codeVerdict(code, message string, skewed bool) verdict {
	v := codes[code]
	switch {
	case v == badSignature && skewed:
		// The SDK has read the service's clock from the answer and signs the next request by it.
		return verdict{asyncsink.Retry, "this machine's clock is wrong: set it"}
	case v == invalid && strings.Contains(message, "tream") && !strings.Contains(strings.ToLower(message), "record"):
		return verdict{asyncsink.Fatal, "the service does not accept the stream's name: check stream"}
	}
	return v
}

// skewed: the SDK has found that the two clocks differ by minutes.
func skewed(err error) bool {
	r, ok := errors.AsType[interface {
		error
		RetryableError() bool
	}](err)
	return ok && r.RetryableError()
}

// statusVerdict judges an answer that has no code, or one that nobody has documented.
func statusVerdict(status int) verdict {
	switch {
	case status < 300: // success, and an answer that can't be read
		return verdict{asyncsink.Ambiguous, ""}
	case status >= 500: // by the service or on the way to it: it may have been carried out
		return verdict{asyncsink.Ambiguous, ""}
	case status == http.StatusTooManyRequests:
		return verdict{asyncsink.Throttled, ""}
	case status == http.StatusRequestEntityTooLarge:
		return verdict{asyncsink.Rejected, ""}
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return denied
	case status < 400, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return notKinesis
	default:
		return verdict{asyncsink.Retry, ""}
	}
}

// neverSent: the connection did not come about, so nothing was stored.
func neverSent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// maxRetryAfter caps a strange value, which must not stop a writer for a day.
const maxRetryAfter = 300 // seconds

// retryAfter is the wait that the service, or a proxy before it, asks for.
func retryAfter(err error) time.Duration {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || r.Response == nil {
		return 0
	}
	n, err := strconv.Atoi(r.Response.Header.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, maxRetryAfter)) * time.Second
}
