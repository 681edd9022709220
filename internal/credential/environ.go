package credential

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// sealedMark begins an encrypted value of a task's env: sealed:<key id>:<nonce and ciphertext in base64>.
const sealedMark = "sealed:"

// envPlace is the first part of the additional data that binds a sealed value; organization ID and variable name
// follow.
const envPlace = "omoi task env"

// Seal encrypts a text for a place with the first key.
func (r *Ring) Seal(text string, place ...string) string {
	return sealedMark + r.first + ":" + base64.StdEncoding.EncodeToString(r.encrypt([]byte(text), place...))
}

// errOtherKey reports a text that a key encrypts which this server does not have.
var errOtherKey = errors.New("the server does not have the key")

// Open decrypts a text that Seal encrypted for the place. The error is [errOtherKey] if the key is missing.
func (r *Ring) Open(sealed string, place ...string) (string, error) {
	keyID, encoded, _ := strings.Cut(strings.TrimPrefix(sealed, sealedMark), ":")
	key, ok := r.keys[keyID]
	if !ok {
		return "", errOtherKey
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil {
		raw, err = key.Open(nil, nil, raw, bound(keyID, place))
	}
	return string(raw), err
}

// sealedBy reports whether a key encrypts a text.
func sealedBy(keyID, text string) bool { return strings.HasPrefix(text, sealedMark+keyID+":") }

// SealEnv encrypts a value of a task's env with the first key. A value that the first key already encrypts is returned
// unchanged. An empty value stays empty: admission reads in the stored env which credential a task uses.
func (r *Ring) SealEnv(organizationID, name, value string) string {
	if value == "" {
		return ""
	}
	if _, err := r.OpenEnv(organizationID, name, value); err == nil && sealedBy(r.first, value) {
		return value
	}
	return r.Seal(value, envPlace, organizationID, name)
}

// OpenEnv decrypts a value of a task's env. A value without the prefix "sealed:" is returned unchanged: older versions
// stored plain text. The error has [task.CodeNotFound].
func (r *Ring) OpenEnv(organizationID, name, value string) (string, error) {
	if !strings.HasPrefix(value, sealedMark) {
		return value, nil
	}
	plain, err := r.Open(value, envPlace, organizationID, name)
	switch {
	case errors.Is(err, errOtherKey):
		return "", task.Errorf(task.CodeNotFound, "The variable %s of the task's env is encrypted with a key that this server does not have. "+
			"Next: put that key into OMOI_CREDENTIAL_KEYS", name)
	case err != nil:
		return "", task.Errorf(task.CodeNotFound, "The variable %s of the task's env cannot be decrypted: it was changed in the database.", name).WithCause(err)
	}
	return plain, nil
}

// TaskEnv is the stored env of a task.
type TaskEnv struct {
	TaskID         string
	OrganizationID string
	Env            map[string]string
}

// rotateEnv encrypts the env of a task with the first key, including values stored in plain text by older versions. An
// env with an undecryptable value stays unchanged and is counted in done.
func (s *Service) rotateEnv(ctx context.Context, was TaskEnv, done *Rotation) error {
	env, changed := make(map[string]string, len(was.Env)), false
	for name, value := range was.Env {
		plain, err := s.ring.OpenEnv(was.OrganizationID, name, value)
		if err != nil {
			done.undecryptable(value)
			return nil //nolint:nilerr // an undecryptable env does not stop the rotation
		}
		if env[name] = value; value != "" && !sealedBy(s.ring.first, value) {
			env[name], changed = s.ring.SealEnv(was.OrganizationID, name, plain), true
		}
	}
	if !changed {
		return nil
	}
	resealed, err := s.store.ResealTaskEnv(ctx, was, env)
	if resealed {
		done.Envs++
	}
	return err
}

// undecryptable counts a text that no key decrypts.
func (r *Rotation) undecryptable(text string) {
	keyID, _, _ := strings.Cut(strings.TrimPrefix(text, sealedMark), ":")
	r.Undecryptable++
	r.MissingKeyIDs = with(r.MissingKeyIDs, keyID)
}

// NoticePlace is the first part of the place of an encrypted notice address; organization ID and rule ID follow.
const NoticePlace = "address of a notice rule"

// NoticeAddress is the encrypted address of a notice rule.
type NoticeAddress struct{ RuleID, OrganizationID, Sealed string }

// rotateNotice encrypts the address of a notice rule with the first key, as rotateEnv does with an env.
func (s *Service) rotateNotice(ctx context.Context, was NoticeAddress, done *Rotation) error {
	place := []string{NoticePlace, was.OrganizationID, was.RuleID}
	plain, err := s.ring.Open(was.Sealed, place...)
	if err != nil {
		done.undecryptable(was.Sealed)
		return nil //nolint:nilerr // an undecryptable address does not stop the rotation
	}
	if sealedBy(s.ring.first, was.Sealed) {
		return nil
	}
	resealed, err := s.store.ResealNoticeAddress(ctx, was, s.ring.Seal(plain, place...))
	if resealed {
		done.Notices++
	}
	return err
}
