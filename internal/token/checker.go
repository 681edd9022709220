package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"sync"
)

// checker is a key that checks the token of every request: what HMAC makes of the secret is
// kept, and nothing is allocated.
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

// fits reports in constant time whether mac is the key's for the sandbox.
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
