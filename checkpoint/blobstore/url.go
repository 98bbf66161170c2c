package blobstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gocloud.dev/blob"
)

// URLError is a fault of the URL that [Open] was given.
type URLError struct {
	URL   string // without user and parameters; of one that can't be parsed, the scheme
	Bound string // what it must be
}

// Error reads FIELD: VALUE: BOUND.
func (e *URLError) Error() string { return fmt.Sprintf("url: %q: must be %s", e.URL, e.Bound) }

// Open opens the bucket that a URL names, by the driver that the program has imported for its scheme. It asks the service
// for nothing: call [Store.Probe] to see whether the bucket can be used. A URL that can't be right gives a *[URLError] for
// each fault, joined.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil { // which part of it is a secret, nobody knows
		scheme, _, _ := strings.Cut(rawURL, "://")
		return nil, &URLError{URL: scheme[:min(len(scheme), 10)] + "...", Bound: "a URL, like s3://bucket/prefix?region=eu-central-1"}
	}
	prefix, err := checkURL(u)
	if err != nil {
		return nil, err
	}
	where := strings.TrimSuffix(u.Scheme+"://"+u.Host+"/"+prefix, "/")

	query := u.Query()
	query.Del("prefix")
	bucket, err := blob.DefaultURLMux().OpenBucketURL(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: query.Encode()})
	if err != nil {
		return nil, (&Store{where: where}).failed(ctx, "open", "", err)
	}
	if prefix != "" {
		bucket = blob.PrefixedBucket(bucket, prefix+"/")
	}
	return newStore(bucket, where), nil
}

// checkURL returns the prefix that the URL gives, without slashes around it.
func checkURL(u *url.URL) (prefix string, err error) {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, &URLError{URL: bare.String(), Bound: fmt.Sprintf(format, args...)})
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		fault("with parameters like region=eu-central-1&profile=state")
	}
	prefix = strings.Trim(u.Path, "/")
	if p := strings.Trim(query.Get("prefix"), "/"); p != "" {
		if prefix != "" {
			fault("with one prefix, in its path or in prefix=")
		}
		prefix = p
	}
	if prefix != "" && checkName(prefix) != nil {
		fault("with a prefix that is %s", aName)
	}
	if u.User != nil {
		fault("without user and password: give the credentials as the service's SDK takes them, such as in the environment")
	}
	if query.Has("key") {
		fault("without key=: a state has many objects")
	}
	if u.Opaque != "" || u.Fragment != "" {
		fault("SCHEME://BUCKET/PREFIX?PARAMETERS")
	}
	switch mux := blob.DefaultURLMux(); {
	case u.Scheme == "file":
		fault("a folder that is opened as one, not as a bucket")
	case !mux.ValidBucketScheme(u.Scheme):
		schemes := slices.Sorted(slices.Values(mux.BucketSchemes()))
		fault("of a scheme whose driver this program has: %s", orNone(strings.Join(schemes, ", ")))
	}
	return prefix, errors.Join(faults...)
}

func orNone(s string) string {
	if s == "" {
		return "it has none"
	}
	return s
}
