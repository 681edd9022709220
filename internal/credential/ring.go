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

// keyBytes is the length of a key: AES-256.
const keyBytes = 32

var keyIDForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// Ring encrypts with its first key and decrypts with any. It is safe for concurrent use.
type Ring struct {
	first string
	keys  map[string]cipher.AEAD // with a random nonce in front of each ciphertext
}

// NewKey makes a key of its own, in the form that [ParseRing] reads.
func NewKey() string {
	secret := make([]byte, keyBytes)
	_, _ = rand.Read(secret) // never fails
	return strings.ToLower(rand.Text()[:8]) + ":" + base64.StdEncoding.EncodeToString(secret)
}

// ParseRing reads keys of the form id:base64, with commas between. No error repeats any of it.
func ParseRing(text string) (*Ring, error) {
	r := &Ring{keys: map[string]cipher.AEAD{}}
	for n, part := range strings.Split(text, ",") {
		id, key, err := parseKey(strings.TrimSpace(part))
		if err != nil {
			return nil, wrongKey("key %d: %s", n+1, err)
		}
		if _, twice := r.keys[id]; twice {
			return nil, wrongKey("two keys are called %q; a new key needs a new id", id)
		}
		r.keys[id] = key
		if r.first == "" {
			r.first = id
		}
	}
	return r, nil
}

func wrongKey(format string, args ...any) error {
	return task.Invalid("credential.keys", "credential.keys cannot be used: "+format, args...)
}

func parseKey(text string) (id string, key cipher.AEAD, err error) {
	id, encoded, found := strings.Cut(text, ":")
	if !found || !keyIDForm.MatchString(id) {
		return "", nil, fmt.Errorf("want id:base64, with letters, digits and _ . - in the id")
	}
	encoded = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
	secret, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || len(secret) != keyBytes {
		return "", nil, fmt.Errorf("what follows the id must be %d random bytes in base64, as `openssl rand -base64 %[1]d` makes them", keyBytes)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return "", nil, err
	}
	key, err = cipher.NewGCMWithRandomNonce(block)
	return id, key, err
}

// First is the id of the key that encrypts.
func (r *Ring) First() string { return r.first }

// encrypt encrypts with the first key what belongs to a place: it cannot be opened elsewhere.
func (r *Ring) encrypt(plain []byte, place ...string) []byte {
	return r.keys[r.first].Seal(nil, nil, plain, bound(r.first, place)) //nolint:gosec // G407: the key draws a random nonce
}

// bound is what is sealed together with a text, which is only to be opened in its place.
func bound(keyID string, place []string) []byte {
	return []byte(strings.Join(append(place, keyID), "\x00"))
}

// seal encrypts a value for its place.
func (r *Ring) seal(p Place, v Value) []byte {
	text, _ := json.Marshal(v) //nolint:gosec,errchkjson // G117: it is encrypted at once; texts can always be encoded
	return r.encrypt(text, p.names()...)
}

// open decrypts a row.
func (r *Ring) open(row Row) (v Value, err error) {
	key, ok := r.keys[row.KeyID]
	if !ok {
		return v, task.Errorf(task.CodeNotFound, "The %s of the %s is encrypted with the key %q, which this server does not have. Next: put that key into OMOI_CREDENTIAL_KEYS, or omoi credentials set %s",
			nameOf(row.Kind), row.Scope(), row.KeyID, row.Kind).WithReason(task.NoCredential(row.Kind))
	}
	text, err := key.Open(nil, nil, row.Sealed, bound(row.KeyID, row.names()))
	if err != nil || json.Unmarshal(text, &v) != nil {
		return v, task.Errorf(task.CodeNotFound, "The %s of the %s cannot be decrypted: it was changed in the database, or the key %q was replaced. Next: omoi credentials set %s",
			nameOf(row.Kind), row.Scope(), row.KeyID, row.Kind).WithReason(task.NoCredential(row.Kind))
	}
	return v, nil
}
