package credential

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// sealedMark begins an encrypted value of a task's env: sealed:<key id>:<nonce and ciphertext in base64>.
const sealedMark = "sealed:"

// envPlace is the first part of the additional data that binds a sealed value; organization ID and variable name
// follow.
const envPlace = "omoi task env"

// SealEnv encrypts a value of a task's env with the first key. A value that the first key already encrypts is returned
// unchanged. An empty value stays empty: admission reads in the stored env which credential a task uses.
func (r *Ring) SealEnv(organizationID, name, value string) string {
	if value == "" {
		return ""
	}
	if _, err := r.OpenEnv(organizationID, name, value); err == nil && strings.HasPrefix(value, sealedMark+r.first+":") {
		return value
	}
	sealed := r.encrypt([]byte(value), envPlace, organizationID, name)
	return sealedMark + r.first + ":" + base64.StdEncoding.EncodeToString(sealed)
}

// OpenEnv decrypts a value of a task's env. A value without the prefix "sealed:" is returned unchanged: older versions
// stored plain text. The error has [task.CodeNotFound].
func (r *Ring) OpenEnv(organizationID, name, value string) (string, error) {
	rest, sealed := strings.CutPrefix(value, sealedMark)
	if !sealed {
		return value, nil
	}
	keyID, encoded, _ := strings.Cut(rest, ":")
	key, ok := r.keys[keyID]
	if !ok {
		return "", task.Errorf(task.CodeNotFound, "The variable %s of the task's env is encrypted with a key that this server does not have. "+
			"Next: put that key into OMOI_CREDENTIAL_KEYS", name)
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil {
		raw, err = key.Open(nil, nil, raw, bound(keyID, []string{envPlace, organizationID, name}))
	}
	if err == nil {
		return string(raw), nil
	}
	return "", task.Errorf(task.CodeNotFound, "The variable %s of the task's env cannot be decrypted: it was changed in the database.", name).WithCause(err)
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
			done.Undecryptable++
			keyID, _, _ := strings.Cut(strings.TrimPrefix(value, sealedMark), ":")
			done.MissingKeyIDs = with(done.MissingKeyIDs, keyID)
			return nil //nolint:nilerr // an undecryptable env does not stop the rotation
		}
		if env[name] = value; value != "" && !strings.HasPrefix(value, sealedMark+s.ring.first+":") {
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
