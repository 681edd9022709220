package omoios

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"github.com/omoi-dev/omoi/internal/task"
)

// KeyVariable is the environment variable with the key that encrypts credentials, as OmoiOS names it.
const KeyVariable = "CREDENTIAL_ENCRYPTION_KEY"

// fernet decrypts tokens of the form Fernet (github.com/fernet/spec), in which OmoiOS keeps credentials.
type fernet struct {
	sign  []byte
	block cipher.Block
}

// newFernet returns nil without a key.
func newFernet(key string) (*fernet, error) {
	if key == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	secret, err := hex.DecodeString(key)
	if err != nil || len(secret) != 32 {
		return nil, task.Invalid(KeyVariable, "Invalid %s: expected the 64 hexadecimal digits with which OmoiOS runs.", KeyVariable)
	}
	block, err := aes.NewCipher(secret[16:])
	return &fernet{sign: secret[:16], block: block}, err
}

var errToken = errors.New("not a token of this key")

// open returns the plain text: version, time (8 bytes), IV, ciphertext with padding, HMAC.
func (f *fernet) open(token string) (string, error) {
	const head, size = 1 + 8, aes.BlockSize
	raw, err := base64.URLEncoding.DecodeString(token)
	body := len(raw) - sha256.Size
	if err != nil || body < head+2*size || raw[0] != 0x80 || (body-head)%size != 0 {
		return "", errToken
	}
	mac := hmac.New(sha256.New, f.sign)
	_, _ = mac.Write(raw[:body]) // never fails
	if !hmac.Equal(mac.Sum(nil), raw[body:]) {
		return "", errToken
	}
	plain := make([]byte, body-head-size)
	cipher.NewCBCDecrypter(f.block, raw[head:head+size]).CryptBlocks(plain, raw[head+size:body])
	padding := int(plain[len(plain)-1])
	if padding < 1 || padding > size {
		return "", errToken
	}
	return string(plain[:len(plain)-padding]), nil
}
