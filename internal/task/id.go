package task

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"time"
)

// sandboxAlphabet is RFC 4648 base32 in lower case, so that a sandbox id is legal
// in routes, labels, file names and workflow ids alike.
//
//nolint:gochecknoglobals // a compile-time table
var sandboxAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// SandboxNamePrefix stands before a sandbox id in the provider's own name, and nowhere else.
const SandboxNamePrefix = "omoi-"

// NewID returns a UUIDv7: 36 characters, sortable by the millisecond of its making.
func NewID() string { return newID(time.Now()) }

func newID(now time.Time) string {
	var b [16]byte
	mustRandom(b[6:])
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // G115: one byte at a time is the point
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	text := hex.AppendEncode(make([]byte, 0, 36), b[:4])
	for _, part := range [...][]byte{b[4:6], b[6:8], b[8:10], b[10:]} {
		text = hex.AppendEncode(append(text, '-'), part)
	}
	return string(text)
}

// NewSandboxID returns 128 random bits as 26 lower-case base32 characters.
func NewSandboxID() string {
	var b [16]byte
	mustRandom(b[:])
	return sandboxAlphabet.EncodeToString(b[:])
}

// SandboxName is what the provider calls a sandbox of ours.
func SandboxName(sandboxID string) string { return SandboxNamePrefix + sandboxID }

// mustRandom fills b; crypto/rand.Read never returns an error since Go 1.24.
func mustRandom(b []byte) { _, _ = rand.Read(b) }

// DerivedID returns a UUID that is the same for the same parts.
func DerivedID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d %s", len(part), part)
	}
	b := h.Sum(nil)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: made by a rule of our own
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
