package credential

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// keyBytes is the length of an AES-256 key.
const keyBytes = 32

var keyIDForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// Ring is a set of keys. Ring encrypts with the first key and decrypts with any. Safe for concurrent use.
type Ring struct {
	first string
	keys  map[string]cipher.AEAD // each ciphertext begins with its random nonce
}

// NewKey returns a random key in the form of [ParseRing], with a random ID.
func NewKey() string {
	secret := make([]byte, keyBytes)
	_, _ = rand.Read(secret) // never fails
	return strings.ToLower(rand.Text()[:8]) + ":" + base64.StdEncoding.EncodeToString(secret)
}

// ParseRing parses keys of the form id:base64, separated by commas. Errors never contain a key.
func ParseRing(text string) (*Ring, error) {
	r := &Ring{keys: map[string]cipher.AEAD{}}
	for n, part := range strings.Split(text, ",") {
		id, key, err := parseKey(strings.TrimSpace(part))
		if err != nil {
			return nil, wrongKey("key %d: %s", n+1, err)
		}
		if _, twice := r.keys[id]; twice {
			return nil, wrongKey("two keys have the ID %q. Next: give the new key another ID", id)
		}
		r.keys[id] = key
		if r.first == "" {
			r.first = id
		}
	}
	return r, nil
}

func wrongKey(format string, args ...any) error {
	return task.Invalid("credential.keys", "Invalid credential.keys: "+format, args...)
}

func parseKey(text string) (id string, key cipher.AEAD, err error) {
	id, encoded, found := strings.Cut(text, ":")
	if !found || !keyIDForm.MatchString(id) {
		return "", nil, fmt.Errorf("expected id:base64, with letters, digits and _ . - in the ID")
	}
	encoded = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
	secret, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || len(secret) != keyBytes {
		return "", nil, fmt.Errorf("expected %d random bytes in base64 after the ID. Next: make them with openssl rand -base64 %[1]d", keyBytes)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return "", nil, err
	}
	key, err = cipher.NewGCMWithRandomNonce(block)
	return id, key, err
}

// First returns the ID of the key that encrypts.
func (r *Ring) First() string { return r.first }

// encrypt encrypts with the first key. The ciphertext can be decrypted with the same place only.
func (r *Ring) encrypt(plain []byte, place ...string) []byte {
	return r.keys[r.first].Seal(nil, nil, plain, bound(r.first, place)) //nolint:gosec // G407: the key draws a random nonce
}

// bound returns the additional data that binds a ciphertext to its key ID and place.
func bound(keyID string, place []string) []byte {
	return []byte(strings.Join(append(place, keyID), "\x00"))
}

// seal encrypts a value for a place.
func (r *Ring) seal(p Place, v Value) []byte {
	text, _ := json.Marshal(v) //nolint:gosec,errchkjson // G117: the JSON is encrypted at once; strings always encode
	return r.encrypt(text, p.names()...)
}

// open decrypts a row.
func (r *Ring) open(row Row) (v Value, err error) {
	key, ok := r.keys[row.KeyID]
	if !ok {
		return v, task.Errorf(task.CodeNotFound, "The %s of the %s is encrypted with the key %q, which this server does not have. Next: put that key into OMOI_CREDENTIAL_KEYS, or %s",
			nameOf(row.Kind), row.Scope(), row.KeyID, row.setCommand()).WithReason(task.NoCredential(row.Kind))
	}
	text, err := key.Open(nil, nil, row.Sealed, bound(row.KeyID, row.names()))
	if err != nil || json.Unmarshal(text, &v) != nil {
		return v, task.Errorf(task.CodeNotFound, "The %s of the %s cannot be decrypted: it was changed in the database, or the key %q was replaced. Next: %s",
			nameOf(row.Kind), row.Scope(), row.KeyID, row.setCommand()).WithReason(task.NoCredential(row.Kind))
	}
	return v, nil
}
