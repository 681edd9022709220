package credential_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

// memory is a [credential.Store] in memory.
type memory struct {
	mu      sync.Mutex
	rows    []credential.Row
	used    []string
	envs    []credential.TaskEnv       // ordered by task ID
	notices []credential.NoticeAddress // ordered by rule ID
	good    []string                   // kinds passed to ProveCredential

	cooldowns map[string]credential.Cooldown
}

func (m *memory) Cooldowns(context.Context, string) (map[string]credential.Cooldown, error) {
	return m.cooldowns, nil
}

func (m *memory) TaskEnvs(_ context.Context, after string, limit int) ([]credential.TaskEnv, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []credential.TaskEnv
	for _, e := range m.envs {
		if e.TaskID > after && len(found) < limit {
			found = append(found, e)
		}
	}
	return found, nil
}

func (m *memory) ResealTaskEnv(_ context.Context, was credential.TaskEnv, env map[string]string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.envs {
		if m.envs[n].TaskID == was.TaskID {
			m.envs[n].Env = env
		}
	}
	return true, nil
}

func (m *memory) NoticeAddresses(_ context.Context, after string, limit int) ([]credential.NoticeAddress, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []credential.NoticeAddress
	for _, a := range m.notices {
		if a.RuleID > after && len(found) < limit {
			found = append(found, a)
		}
	}
	return found, nil
}

func (m *memory) ResealNoticeAddress(_ context.Context, was credential.NoticeAddress, sealed string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := slices.Index(m.notices, was)
	m.notices[n].Sealed = sealed
	return true, nil
}

func (m *memory) ProveCredential(_ context.Context, _, _, kind string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.good = append(m.good, kind)
	return nil
}

func (m *memory) PutCredential(_ context.Context, p credential.Place, keyID string, sealed []byte) (credential.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = slices.DeleteFunc(m.rows, func(r credential.Row) bool { return r.Place == p })
	row := credential.Row{Place: p, ID: task.NewID(), KeyID: keyID, Sealed: sealed, UpdatedAt: time.Now()}
	m.rows = append(m.rows, row)
	return row, nil
}

func (m *memory) DropCredential(_ context.Context, p credential.Place) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.rows)
	m.rows = slices.DeleteFunc(m.rows, func(r credential.Row) bool { return r.Place == p })
	return len(m.rows) < before, nil
}

func (m *memory) Credentials(_ context.Context, w credential.Who) ([]credential.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []credential.Row
	for _, r := range m.rows {
		if r.OrganizationID == w.OrganizationID && (r.UserID == "" || r.UserID == w.UserID) && (r.ProjectID == "" || w.ProjectID == "" || r.ProjectID == w.ProjectID) {
			found = append(found, r)
		}
	}
	return found, nil
}

func (m *memory) CredentialsUnder(_ context.Context, not, after string, limit int) ([]credential.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []credential.Row
	for _, r := range m.rows {
		if r.KeyID != not && r.ID > after {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b credential.Row) int { return strings.Compare(a.ID, b.ID) })
	return found[:min(limit, len(found))], nil
}

func (m *memory) ResealCredential(_ context.Context, was credential.Row, keyID string, sealed []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.rows {
		if m.rows[n].ID == was.ID && string(m.rows[n].Sealed) == string(was.Sealed) {
			m.rows[n].KeyID, m.rows[n].Sealed = keyID, sealed
			return true, nil
		}
	}
	return false, nil
}

func (m *memory) UseCredential(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = append(m.used, id)
	return nil
}

func (m *memory) UseNoCredential(_ context.Context, taskID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = append(m.used, "none "+taskID)
	return nil
}

func (m *memory) OrganizationOf(_ context.Context, userID, projectID string) (string, error) {
	if projectID == "lost" || userID == "lost" {
		return "", task.Errorf(task.CodeNotFound, "There is no such thing here.")
	}
	return org, nil
}

const (
	org   = "org"
	alice = "alice"
	bob   = "bob"
	shop  = "shop"
)

// bench is a service with its store in memory.
type bench struct {
	*testing.T

	*memory

	service *credential.Service
}

func newBench(t *testing.T, installed map[string]credential.Value) *bench {
	t.Helper()
	m := &memory{}
	return &bench{T: t, memory: m, service: m.service(t, credential.NewKey(), installed)}
}

// service returns the service of a process with these keys.
func (m *memory) service(t *testing.T, keys string, installed map[string]credential.Value) *credential.Service {
	t.Helper()
	ring, err := credential.ParseRing(keys)
	require.NoError(t, err)
	return credential.New(credential.Config{Installation: installed, Organization: org}, ring, m)
}

func (b *bench) set(w credential.Who, kind, secret string) {
	b.Helper()
	w.OrganizationID = org
	_, err := b.service.Set(b.Context(), credential.Place{Who: w, Kind: kind}, credential.Value{Secret: secret})
	require.NoError(b, err)
}
