package config

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	_ "gocloud.dev/blob/s3blob" // s3: URLs

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
)

// Validate checks the URL and the numbers.
func (s *State) Validate() error {
	var errs []error
	if s.URL != "" {
		errs = append(errs, checkStore("url", s.URL))
	}
	errs = append(errs, duration("interval", s.Interval), duration("timeout", s.Timeout), checkpoint.Options{Retained: s.Retained}.Validate())
	if s.MinPause < 0 || s.MinPause > longest {
		errs = append(errs, fault("min_pause", s.MinPause.String(), "0s to 24h"))
	}
	if s.Tolerate < 0 {
		errs = append(errs, fault("tolerate", strconv.Itoa(s.Tolerate), "0 or more"))
	}
	return errors.Join(errs...)
}

// Dir is the folder of a state that validates; "": it has none, or lies in a bucket.
func (s *State) Dir() string {
	dir, _ := localDir(s.URL)
	return dir
}

// OpenStore opens the store that a URL names. It makes nothing, and asks no service for anything, so that a store which is not there, or not
// to be reached, shows when it is used. What is wrong with the URL is a *[blobstore.URLError], or an error of the driver.
func OpenStore(ctx context.Context, rawURL string) (checkpoint.Store, error) {
	dir, local := localDir(rawURL)
	switch {
	case local && dir != "":
		return checkpoint.OpenLocal(dir)
	case !local && (strings.HasPrefix(rawURL, "s3:") || strings.HasPrefix(rawURL, "mem:")): // the latter's driver is the tests'
		return blobstore.Open(ctx, quiet(rawURL))
	}
	return nil, &blobstore.URLError{URL: shown(rawURL), Bound: "file: and a local folder, such as file:state, or a bucket, such as s3://bucket/prefix?region=eu-central-1"}
}

// quiet asks the S3 driver not to look for checksums in answers, unless the URL says something else: what is read has
// checksums of its own, and of servers that send none the SDK would complain on standard error, each time.
func quiet(rawURL string) string {
	const parameter = "response_checksum_validation"
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "s3" || u.Query().Has(parameter) {
		return rawURL
	}
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+parameter+"=when_required", "&")
	return u.String()
}

// localDir is the folder that a URL of the scheme file names; "": it names none.
func localDir(rawURL string) (dir string, local bool) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "file" {
		return "", false
	}
	if u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", true
	}
	dir, err = pathOf(u)
	if err != nil || strings.ContainsRune(dir, 0) {
		return "", true
	}
	return dir, true
}

// pathOf is the path of a URL, be it file:a/b or file:///a/b.
func pathOf(u *url.URL) (string, error) {
	if u.Opaque != "" {
		return url.PathUnescape(u.Opaque)
	}
	return u.Path, nil
}

// checkStore returns a fault of a field for each that the URL of a store has.
func checkStore(field, rawURL string) error {
	s, err := OpenStore(context.Background(), rawURL)
	if err == nil {
		return CloseStore(s)
	}
	return storeFaults(field, rawURL, err)
}

func storeFaults(field, rawURL string, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var faults []error
		for _, one := range joined.Unwrap() {
			faults = append(faults, storeFaults(field, rawURL, one))
		}
		return errors.Join(faults...)
	}
	if e := (*blobstore.URLError)(nil); errors.As(err, &e) {
		return fault(field, cmp.Or(e.URL, "none"), e.Bound)
	}
	cause := err
	for errors.Unwrap(cause) != nil {
		cause = errors.Unwrap(cause)
	}
	return fault(field, shown(rawURL), "one that its driver takes: "+cause.Error())
}

// CloseStore lets go of what a store holds; of a folder, that is nothing.
func CloseStore(s checkpoint.Store) error {
	if c, ok := s.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}
