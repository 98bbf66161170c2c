package kinesistest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Credentials are what one caller may sign with.
type Credentials struct {
	AccessKeyID, SecretAccessKey string
	// SessionToken, when given, must come with each request, as with credentials of STS.
	SessionToken string
	// Expires is the time from which on they are refused with ExpiredTokenException. Zero: never.
	Expires time.Time
}

// credentialSet is replaced as a whole, so that a rotation is one step.
type credentialSet struct {
	mu   sync.RWMutex
	byID map[string][]Credentials
}

func (cs *credentialSet) set(all []Credentials) {
	byID := map[string][]Credentials{}
	for _, c := range all {
		byID[c.AccessKeyID] = append(byID[c.AccessKeyID], c)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.byID = byID
}

// SetCredentials replaces the credentials that are let in, from the next request on; see [Config.Credentials].
// With none, every request is let in. Two with the same AccessKeyID may differ in their SessionToken.
func (s *Server) SetCredentials(c ...Credentials) { s.credentials.set(c) }

const (
	algorithm  = "AWS4-HMAC-SHA256"
	dateFormat = "20060102T150405Z"
	maxSkew    = 5 * time.Minute
)

// authorization is the parsed Authorization header.
type authorization struct {
	keyID, scope, date, signature string
	signed                        []string
}

// authenticate is nil when the request may pass. The checks run in this order: form, key, session token,
// expiry, date, signature.
func (s *Server) authenticate(r *http.Request, body []byte, now time.Time) error {
	s.credentials.mu.RLock()
	byID := s.credentials.byID
	s.credentials.mu.RUnlock()
	if len(byID) == 0 {
		return nil
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return refuse("MissingAuthenticationTokenException", "Missing Authentication Token")
	}
	a, err := parseAuthorization(header)
	if err != nil {
		return err
	}
	unknown := refuse("UnrecognizedClientException", "The security token included in the request is invalid.")
	i := slices.IndexFunc(byID[a.keyID], func(c Credentials) bool {
		return hmac.Equal([]byte(c.SessionToken), []byte(r.Header.Get("X-Amz-Security-Token")))
	})
	if i < 0 {
		return unknown
	}
	c := byID[a.keyID][i]
	if !c.Expires.IsZero() && !now.Before(c.Expires) {
		return refuse("ExpiredTokenException", "The security token included in the request is expired")
	}
	if err := checkDate(r.Header.Get("X-Amz-Date"), a, now); err != nil {
		return err
	}
	if !hmac.Equal([]byte(sign(c.SecretAccessKey, a, r, body)), []byte(a.signature)) {
		return refuse("InvalidSignatureException", "The request signature we calculated does not match the signature you provided. "+
			"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
	}
	return nil
}

func parseAuthorization(header string) (authorization, error) {
	incomplete := func(what string) error {
		return refuse("IncompleteSignatureException", "Authorization header requires %s.", what)
	}
	rest, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return authorization{}, incomplete("the algorithm " + algorithm)
	}
	fields := map[string]string{}
	for f := range strings.SplitSeq(rest, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[k] = v
	}
	for _, k := range []string{"Credential", "SignedHeaders", "Signature"} {
		if fields[k] == "" {
			return authorization{}, incomplete("'" + k + "' parameter")
		}
	}
	keyID, scope, _ := strings.Cut(fields["Credential"], "/")
	parts := strings.Split(scope, "/")
	if len(parts) != 4 || parts[3] != "aws4_request" {
		return authorization{}, incomplete("a credential scope of date, region, service and aws4_request")
	}
	if parts[2] != "kinesis" {
		return authorization{}, refuse("InvalidSignatureException", "Credential should be scoped to correct service: 'kinesis'.")
	}
	a := authorization{
		keyID: keyID, scope: scope, date: parts[0],
		signed: strings.Split(fields["SignedHeaders"], ";"), signature: fields["Signature"],
	}
	if !slices.Contains(a.signed, "host") {
		return authorization{}, refuse("InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization.")
	}
	return a, nil
}

func checkDate(stamp string, a authorization, now time.Time) error {
	at, err := time.Parse(dateFormat, stamp)
	if err != nil {
		return refuse("IncompleteSignatureException", "Authorization header requires a valid 'X-Amz-Date' header, got %q.", stamp)
	}
	early, late := now.UTC().Add(-maxSkew), now.UTC().Add(maxSkew)
	switch {
	case !strings.HasPrefix(stamp, a.date):
		return refuse("InvalidSignatureException", "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date: %s", stamp)
	case at.Before(early):
		return refuse("InvalidSignatureException", "Signature expired: %s is now earlier than %s (%s - 5 min.)",
			stamp, early.Format(dateFormat), now.UTC().Format(dateFormat))
	case at.After(late):
		return refuse("InvalidSignatureException", "Signature not yet current: %s is still later than %s (%s + 5 min.)",
			stamp, late.Format(dateFormat), now.UTC().Format(dateFormat))
	}
	return nil
}

// sign computes AWS Signature Version 4 of the request as it arrived.
func sign(secret string, a authorization, r *http.Request, body []byte) string {
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n" + r.URL.EscapedPath() + "\n" + strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") + "\n")
	for _, name := range a.signed {
		canonical.WriteString(name + ":" + headerValue(r, name) + "\n")
	}
	canonical.WriteString("\n" + strings.Join(a.signed, ";") + "\n" + hexSum(body))
	text := algorithm + "\n" + r.Header.Get("X-Amz-Date") + "\n" + a.scope + "\n" + hexSum([]byte(canonical.String()))
	key := []byte("AWS4" + secret)
	for _, part := range append(strings.Split(a.scope, "/"), text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key)
}

// headerValue is a signed header in canonical form. Host and Content-Length do not always stay among the headers.
func headerValue(r *http.Request, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		return strconv.FormatInt(r.ContentLength, 10)
	}
	values := slices.Clone(r.Header.Values(name))
	for i, v := range values {
		values[i] = strings.Join(strings.Fields(v), " ")
	}
	return strings.Join(values, ",")
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
