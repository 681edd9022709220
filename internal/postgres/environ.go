package postgres

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// sealEnv returns an execution config with encrypted env. A config that is not valid JSON stays unchanged.
func (s *Store) sealEnv(organizationID string, config json.RawMessage) json.RawMessage {
	if s.cfg.Ring == nil {
		return config
	}
	return mapEnv(config, func(name, value string) string { return s.cfg.Ring.SealEnv(organizationID, name, value) })
}

// openEnv returns an execution config with decrypted env, for readers. A value that cannot be decrypted stays
// encrypted.
func (s *Store) openEnv(organizationID string, config json.RawMessage) json.RawMessage {
	if s.cfg.Ring == nil {
		return config
	}
	return mapEnv(config, func(name, value string) string {
		if plain, err := s.cfg.Ring.OpenEnv(organizationID, name, value); err == nil {
			return plain
		}
		return value
	})
}

// openForAgent decrypts env in place. Values that cannot be decrypted are removed, and the last error is returned.
func (s *Store) openForAgent(organizationID string, env map[string]string) (unreadable error) {
	if s.cfg.Ring == nil {
		return nil
	}
	for name, value := range env {
		plain, err := s.cfg.Ring.OpenEnv(organizationID, name, value)
		if env[name] = plain; err != nil {
			delete(env, name)
			unreadable = err
		}
	}
	return unreadable
}

func mapEnv(config json.RawMessage, edit func(name, value string) string) json.RawMessage {
	whole := readObject(config)
	var env map[string]string
	if json.Unmarshal(whole["env"], &env) != nil || len(env) == 0 {
		return config
	}
	for name, value := range env {
		env[name] = edit(name, value)
	}
	whole.set("env", env)
	return jsonOf(whole)
}

// TaskEnvs implements [credential.Store].
func (s *Store) TaskEnvs(ctx context.Context, afterID string, limit int) ([]credential.TaskEnv, error) {
	const before = "00000000-0000-0000-0000-000000000000"
	rows, err := s.q.TaskEnvs(ctx, cmp.Or(afterID, before), limit)
	return mapAll(rows, func(r db.TaskEnvsRow) credential.TaskEnv {
		e := credential.TaskEnv{TaskID: r.ID, OrganizationID: r.OrganizationID}
		_ = json.Unmarshal(r.Env, &e.Env) // without an object of strings there is nothing to encrypt
		return e
	}), translate("read the env of tasks", err)
}

// ResealTaskEnv implements [credential.Store].
func (s *Store) ResealTaskEnv(ctx context.Context, was credential.TaskEnv, env map[string]string) (bool, error) {
	n, err := s.q.ResealTaskEnv(ctx, db.ResealTaskEnvParams{Env: jsonOf(env), ID: was.TaskID, Was: jsonOf(was.Env)})
	return n > 0, translate("encrypt the env of task "+was.TaskID+" again", err)
}
