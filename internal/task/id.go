package task

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// SandboxNamePrefix starts the name of a sandbox at its provider. IDs do not have it.
const SandboxNamePrefix = "omoi-"

// NewID returns a UUIDv7: 36 characters, sortable by the millisecond of its creation.
func NewID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(time.Now().UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails
	return uuid(b[:], 7)
}

// uuid formats 16 bytes as a UUID of a version.
func uuid(b []byte, version byte) string {
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	text := hex.AppendEncode(make([]byte, 0, 36), b[:4])
	for _, part := range [...][]byte{b[4:6], b[6:8], b[8:10], b[10:16]} {
		text = hex.AppendEncode(append(text, '-'), part)
	}
	return string(text)
}

// NewSandboxID returns at least 128 random bits as 26 lower-case base32 characters, which are valid in routes, labels,
// file names and workflow IDs.
func NewSandboxID() string { return strings.ToLower(rand.Text()) }

// SandboxName returns the name of a sandbox at its provider.
func SandboxName(sandboxID string) string { return SandboxNamePrefix + sandboxID }

// DerivedID returns a UUID that is the same for the same parts.
func DerivedID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d %s", len(part), part)
	}
	return uuid(h.Sum(nil), 8) // version 8: a scheme of its own
}
