package blobstore

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode"

	"gocloud.dev/gcerrors"

	"github.com/spillway-go/spillway/checkpoint"
)

// Error is what a call to the service ended with. It matches the end of ctx (context.Canceled, context.DeadlineExceeded),
// fs.ErrNotExist and [checkpoint.ErrExists] where [checkpoint.Store] says so; a name that is none is a *[checkpoint.NameError].
// gcerrors.Code and errors.As reach what the driver said.
type Error struct {
	Op    string // "open", "probe", "put", "create", "read", "list", "copy", "delete" or "close"
	Name  string // of the object, or the prefix of a list; empty: the bucket
	Where string // the URL of the Store, without parameters; empty: not known
	Err   error  // its own text may have URLs with parameters
}

func (e *Error) Error() string {
	what := place(e.Where)
	if e.Name != "" {
		what = e.Name + " in " + what
	}
	text := withoutParameters(wrapping.ReplaceAllString(e.Err.Error(), ""))
	if h := hint(e.Err); h != "" {
		text += ": " + h
	}
	return fmt.Sprintf("blobstore: %s %s: %s", e.Op, what, text)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func place(where string) string { return cmp.Or(where, "the bucket") }

// failed makes an error of what the driver returned. What a call says after its ctx has ended is of that.
func (s *Store) failed(ctx context.Context, op, name string, err error) error {
	if ended := ctx.Err(); ended != nil {
		err = ended
	}
	return &Error{Op: op, Name: name, Where: s.where, Err: err}
}

// hint is for the errors that a person can do something about.
func hint(err error) string {
	switch {
	case gcerrors.Code(err) == gcerrors.PermissionDenied:
		return "let these credentials read, write, list and delete objects there"
	case gcerrors.Code(err) == gcerrors.NotFound:
		return "make the bucket, or let these credentials see it"
	case strings.Contains(err.Error(), "get credentials"): // the AWS SDK has no type for it
		return "give this process credentials for the bucket: in the environment, a profile or a role"
	}
	return ""
}

var (
	wrapping   = regexp.MustCompile(`^blob( \(key ".*?"\))? \(code=\w+\): `) // that of package blob
	parameters = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s"?]*)\?[^\s"]*[^\s":,]`)
	users      = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s"/?]*@`)
)

// withoutParameters removes user and parameters from the URLs in a text: they may be secrets.
func withoutParameters(text string) string {
	text = parameters.ReplaceAllString(text, "$1")
	return users.ReplaceAllString(text, "$1")
}

const aName = `a path like "a/b", without ".", "..", "\" and control characters`

func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, `\`) || strings.ContainsFunc(name, unicode.IsControl) {
		return &checkpoint.NameError{Field: "object", Value: name, Bound: aName}
	}
	return nil
}
