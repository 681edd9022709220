package credential_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestTaskEnv_IsSealedForItsOrganizationAndName(t *testing.T) {
	t.Parallel()
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(t, err)
	sealed := ring.SealEnv(org, "MY_KEY", "planted")
	require.NotContains(t, sealed, "planted")
	require.Equal(t, sealed, ring.SealEnv(org, "MY_KEY", sealed), "it is sealed once")
	plain, err := ring.OpenEnv(org, "MY_KEY", sealed)
	require.NoError(t, err)
	require.Equal(t, "planted", plain)
	for _, place := range [][2]string{{"another", "MY_KEY"}, {org, "OTHER"}} {
		_, err = ring.OpenEnv(place[0], place[1], sealed)
		require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	}
	looks := "sealed:" + ring.First() + ":bm90IHNlYWxlZA==" // looks sealed, but is the text of a user
	plain, err = ring.OpenEnv(org, "MY_KEY", ring.SealEnv(org, "MY_KEY", looks))
	require.NoError(t, err)
	require.Equal(t, looks, plain)
	require.Empty(t, ring.SealEnv(org, "MY_KEY", ""), "who reads the stored env sees that the variable is empty")
	old, err := ring.OpenEnv(org, "MY_KEY", "stored before")
	require.NoError(t, err)
	require.Equal(t, "stored before", old)
}

func TestRotate_CoversTheEnvOfTasks(t *testing.T) {
	t.Parallel()
	m := &memory{}
	oldKey, newKey := credential.NewKey(), credential.NewKey()
	old, err := credential.ParseRing(oldKey)
	require.NoError(t, err)
	m.envs = []credential.TaskEnv{
		{TaskID: "1", OrganizationID: org, Env: map[string]string{"A": old.SealEnv(org, "A", "a"), "B": "plain", "EMPTY": ""}},
		{TaskID: "3", OrganizationID: org, Env: map[string]string{"EMPTY": ""}},
		{TaskID: "2", OrganizationID: org, Env: map[string]string{"A": old.SealEnv("another", "A", "a")}},
	}
	done, err := m.service(t, newKey+","+oldKey, nil).Rotate(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{done.Envs, done.Undecryptable})
	fresh, err := credential.ParseRing(newKey) // without the old key
	require.NoError(t, err)
	require.Empty(t, m.envs[0].Env["EMPTY"])
	for name, want := range map[string]string{"A": "a", "B": "plain"} {
		stored := m.envs[0].Env[name]
		require.True(t, strings.HasPrefix(stored, "sealed:"+fresh.First()+":"))
		got, err := fresh.OpenEnv(org, name, stored)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	again, err := m.service(t, newKey, nil).Rotate(t.Context())
	require.NoError(t, err)
	require.Zero(t, again.Envs)
}
