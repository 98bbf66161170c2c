package kinesis

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/spillway-go/spillway/asyncsink"
)

// credentials stands between the SDK and whatever provides its credentials. It
// marks the provider's failures, and when the service calls credentials expired
// it has them obtained anew: once for all requests that carried the same ones,
// and not again until a request with the new ones was let in.
type credentials struct {
	provider aws.CredentialsProvider    // the SDK's, usually an aws.CredentialsCache
	source   asyncsink.CredentialSource // takes the provider's place, if the writer has one

	mu        sync.Mutex
	refreshes uint64 // asked for so far
	unproven  bool   // no request was let in since the last one
	newest    uint64 // generation that the source handed out last
}

// attempt is what one request was signed with.
type attempt struct {
	refreshes  uint64 // that had been asked for by then
	generation uint64 // the source's
}

type attemptKey struct{}

// begin puts a new attempt into a request's context, where Retrieve finds it.
func (c *credentials) begin(ctx context.Context) (context.Context, *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &attempt{refreshes: c.refreshes}
	return context.WithValue(ctx, attemptKey{}, a), a
}

// Retrieve implements aws.CredentialsProvider.
func (c *credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c.mu.Lock()
	refreshes := c.refreshes // before: what comes is at least as new
	c.mu.Unlock()
	got, generation, err := c.obtain(ctx)
	if err != nil {
		return got, &credentialsError{err}
	}
	c.mu.Lock()
	c.newest = max(c.newest, generation)
	c.mu.Unlock()
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		a.refreshes, a.generation = refreshes, generation
	}
	return got, nil
}

func (c *credentials) obtain(ctx context.Context) (aws.Credentials, uint64, error) {
	if c.source == nil {
		got, err := c.provider.Retrieve(ctx)
		return got, 0, err
	}
	s, err := c.source.Credential(ctx)
	return aws.Credentials{
		AccessKeyID: s.ID, SecretAccessKey: s.Secret, SessionToken: s.Session, Source: "spillway",
		CanExpire: !s.Expires.IsZero(), Expires: s.Expires,
	}, s.Generation, err
}

// proved notes that a request was let in.
func (c *credentials) proved(a *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unproven = c.unproven && a.refreshes < c.refreshes
}

// expired has credentials obtained anew after a request was refused because of
// them, unless newer ones have been handed out since. False: they were the outcome
// of such a refresh, so that there is nothing left to try.
func (c *credentials) expired(a *attempt) (goOn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case a.refreshes < c.refreshes, a.generation < c.newest:
		return true
	case c.unproven:
		return false
	}
	c.refreshes++
	c.unproven = true
	if c.source != nil {
		c.source.Invalidate(a.generation)
	} else if cache, ok := c.provider.(interface{ Invalidate() }); ok {
		cache.Invalidate()
	}
	return true
}
