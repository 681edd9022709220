// Package token mints and verifies the tokens of sandboxes: v1.<key id>.<HMAC-SHA256 over the sandbox ID>. A token does
// not name a sandbox: it is verified against the sandbox in the route. Nothing is stored. Two keys are valid at a time,
// so that the key can be changed while sandboxes run.
package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"slices"
	"strings"
	"sync"

	"github.com/omoi-dev/omoi/internal/task"
)

const (
	version = "v1"
	// minSecret is the minimum length of a secret, in bytes.
	minSecret = 32
	maxID     = 40
)

// Key signs tokens. ID is part of each token: 1 to 40 characters without a full stop. Secret has 32 bytes or more.
type Key struct {
	ID     string
	Secret []byte
}

// Ring mints with one key and accepts two. It is safe for concurrent use.
type Ring struct {
	current Key
	keys    []*checker
}

// NewRing returns a ring. previous is the key before current; nil if there was none. A malformed key is
// [task.CodeInvalid].
func NewRing(current Key, previous *Key) (*Ring, error) {
	keys := []Key{current}
	if previous != nil {
		keys = append(keys, *previous)
	}
	for _, k := range keys {
		if err := k.check(); err != nil {
			return nil, err
		}
	}
	if previous != nil && previous.ID == current.ID {
		return nil, task.Invalid("token.previous_key", "Both token keys are called %q; a new key needs a new id.", current.ID)
	}
	ring := &Ring{current: current}
	for _, k := range keys {
		ring.keys = append(ring.keys, newChecker(k))
	}
	return ring, nil
}

func (k Key) check() error {
	switch {
	case k.ID == "" || len(k.ID) > maxID || strings.Contains(k.ID, "."):
		return task.Invalid("token.key_id", "The id of a token key has 1 to %d characters and no full stop.", maxID)
	case len(k.Secret) < minSecret:
		return task.Invalid("token.key", "The secret of token key %s has %d bytes; it needs %d or more.", k.ID, len(k.Secret), minSecret)
	}
	return nil
}

// Print identifies a key without revealing it.
type Print struct {
	KeyID string
	Hash  string // of ID and secret; empty: no key
}

// Signs returns the print of the key that mints.
func (r *Ring) Signs() Print { return r.current.print() }

// Holds reports whether the key of a print is in the ring.
func (r *Ring) Holds(p Print) bool {
	return slices.ContainsFunc(r.keys, func(c *checker) bool { return c.print() == p })
}

// print is truncated, so that it is not a valid token of any sandbox.
func (k Key) print() Print {
	const enough = 24
	return Print{KeyID: k.ID, Hash: k.sign("the key " + k.ID)[:enough]}
}

// Mint returns the token of a sandbox.
func (r *Ring) Mint(sandboxID string) string {
	return version + "." + r.current.ID + "." + r.current.sign(sandboxID)
}

// Verify verifies a token of the sandbox in the route: [task.CodeUnauthorized] if no key of the ring can have minted
// it, [task.CodeForbidden] if it belongs to another sandbox.
func (r *Ring) Verify(token, sandboxID string) error {
	mac, key, ok := r.split(token)
	if !ok {
		return task.Errorf(task.CodeUnauthorized, "The sandbox token is malformed, or its key is not in use any more.")
	}
	if !key.fits(mac, sandboxID) {
		return task.Errorf(task.CodeForbidden, "The token is not the token of sandbox %s.", sandboxID)
	}
	return nil
}

// Looks reports whether a credential has the form of a sandbox token.
func Looks(credential string) bool { return strings.HasPrefix(credential, version+".") }

func (r *Ring) split(token string) (mac string, key *checker, ok bool) {
	rest, ours := strings.CutPrefix(token, version+".")
	id, mac, whole := strings.Cut(rest, ".")
	if !ours || !whole || strings.Contains(mac, ".") {
		return "", nil, false
	}
	at := slices.IndexFunc(r.keys, func(c *checker) bool { return c.ID == id })
	if at < 0 {
		return "", nil, false
	}
	return mac, r.keys[at], true
}

func (k Key) sign(sandboxID string) string {
	h := hmac.New(sha256.New, k.Secret)
	h.Write([]byte(sandboxID)) // a hash never returns an error
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// checker verifies the token of every request: it keeps the HMAC state of the secret, and allocates nothing.
type checker struct {
	Key

	macs sync.Pool // of *macOf
}

type macOf struct {
	mac             hash.Hash
	text, sum, want []byte
}

func newChecker(k Key) *checker {
	c := &checker{Key: k}
	c.macs.New = func() any { return &macOf{mac: hmac.New(sha256.New, k.Secret)} }
	return c
}

// fits reports in constant time whether mac is that of the sandbox.
func (c *checker) fits(mac, sandboxID string) bool {
	m := c.macs.Get().(*macOf) //nolint:errcheck,forcetypeassert // it holds nothing else
	defer c.macs.Put(m)
	m.mac.Reset()
	m.text = append(m.text[:0], sandboxID...)
	m.mac.Write(m.text) // a hash never returns an error
	m.sum = m.mac.Sum(m.sum[:0])
	m.want = base64.RawURLEncoding.AppendEncode(m.want[:0], m.sum)
	m.text = append(m.text[:0], mac...)
	return hmac.Equal(m.text, m.want)
}
