package config

import (
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Newest as a restore is the newest checkpoint of the job.
const Newest = "newest"

// From is the checkpoint that --restore names. The zero value is the newest.
type From struct {
	ID    uint64 // of the job; 0: a manifest
	Store string // the URL of the store that the manifest lies in
	Name  string // of the manifest in it
}

// From is the checkpoint to begin with, of settings that validate.
func (s *Settings) From() From {
	f, _ := parseRestore(s.Restore)
	return f
}

// Validate checks which checkpoint is to be restored, and that there is one to be claimed.
func (s *Settings) Validate() error {
	from, ok := parseRestore(s.Restore)
	switch {
	case !ok:
		return fault("restore", shown(s.Restore), "newest, the number of a checkpoint, or the URL of a manifest, such as file:state/orders/0/chk-"+strings.Repeat("0", 18)+"42")
	case from.Store != "":
		if err := checkStore("restore", from.Store); err != nil {
			return err
		}
	}
	if s.Claim && from == (From{}) {
		return fault("claim", "true", "beside --restore with a number or a URL: the newest checkpoint is the job's own")
	}
	return nil
}

var manifest = regexp.MustCompile(`^chk-[0-9]{20}$`)

// parseRestore reads newest, a number, or a URL whose last three elements are the name of a manifest.
func parseRestore(text string) (From, bool) {
	if text == "" || text == Newest {
		return From{}, true
	}
	if id, err := strconv.ParseUint(text, 10, 64); err == nil {
		return From{ID: id}, id > 0
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return From{}, false
	}
	full, err := pathOf(u)
	parts := strings.Split(full, "/")
	n := len(parts) - 3
	if err != nil || n < 0 || !manifest.MatchString(parts[n+2]) {
		return From{}, false
	}
	at := strings.Join(parts[:n], "/")
	switch {
	case u.Opaque != "":
		u.Opaque = (&url.URL{Path: path.Join(".", at)}).EscapedPath()
	case at == "" && u.Host == "":
		u.Path = "/"
	default:
		u.Path = at
	}
	u.RawPath = ""
	return From{Store: u.String(), Name: path.Join(parts[n:]...)}, true
}

// SameStore says whether two URLs of stores, which validate, name the same one.
func SameStore(a, b string) bool {
	dir, local := localDir(a)
	if other, ok := localDir(b); local || ok {
		here, err := filepath.Abs(dir)
		there, otherErr := filepath.Abs(other)
		return local && ok && err == nil && otherErr == nil && here == there
	}
	u, err := url.Parse(a)
	v, otherErr := url.Parse(b)
	return err == nil && otherErr == nil && u.Scheme == v.Scheme && u.Host == v.Host &&
		strings.Trim(u.Path, "/") == strings.Trim(v.Path, "/") && u.Query().Encode() == v.Query().Encode()
}
