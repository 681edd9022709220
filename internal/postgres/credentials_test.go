package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestCredentials_ByPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	alice, err := w.store.EnsureUser(t.Context(), w.org, "alice")
	require.NoError(t, err)
	again, err := w.store.EnsureUser(t.Context(), w.org, "alice")
	require.NoError(t, err)
	require.Equal(t, alice, again)
	bob, err := w.store.EnsureUser(t.Context(), w.org, "bob")
	require.NoError(t, err)
	project, other := w.project(1), w.project(1)
	put := func(who credential.Who, kind, key, content string) credential.Row {
		t.Helper()
		who.OrganizationID = w.org
		row, err := w.store.PutCredential(t.Context(), credential.Place{Who: who, Kind: kind}, key, []byte(content))
		require.NoError(t, err)
		return row
	}
	first := put(credential.Who{UserID: alice}, "github", "k1", "one")
	require.NoError(t, w.store.UseCredential(t.Context(), first.ID))
	second := put(credential.Who{UserID: alice}, "github", "k2", "two")
	require.Equal(t, first.ID, second.ID, "in place of the one before")
	require.Nil(t, second.UsedAt, "another one, which nobody was given")
	put(credential.Who{UserID: bob}, "github", "k1", "bob")
	put(credential.Who{ProjectID: project}, "github", "k1", "mine")
	put(credential.Who{ProjectID: other}, "github", "k1", "theirs")
	put(credential.Who{}, "github", "k1", "all")

	seen := func(who credential.Who) (all []string) {
		t.Helper()
		who.OrganizationID = w.org
		rows, err := w.store.Credentials(t.Context(), who)
		require.NoError(t, err)
		for _, r := range rows {
			all = append(all, r.Scope()+" "+string(r.Sealed))
		}
		return all
	}
	require.ElementsMatch(t, []string{"user two", "project mine", "organization all"}, seen(credential.Who{UserID: alice, ProjectID: project}))
	require.ElementsMatch(t, []string{"user two", "project mine", "project theirs", "organization all"}, seen(credential.Who{UserID: alice}))
	require.ElementsMatch(t, []string{"project mine", "organization all"}, seen(credential.Who{ProjectID: project}))

	rows, err := w.store.CredentialsUnder(t.Context(), "k2", "", 2)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	rows, err = w.store.CredentialsUnder(t.Context(), "k2", rows[1].ID, 9)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	changed, err := w.store.ResealCredential(t.Context(), rows[0], "k2", []byte("again"))
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = w.store.ResealCredential(t.Context(), rows[0], "k2", []byte("late"))
	require.NoError(t, err)
	require.False(t, changed, "somebody was faster")

	had, err := w.store.DropCredential(t.Context(), first.Place)
	require.NoError(t, err)
	require.True(t, had)
	had, err = w.store.DropCredential(t.Context(), first.Place)
	require.NoError(t, err)
	require.False(t, had)
	require.NotContains(t, seen(credential.Who{UserID: alice}), "user two")
}

func TestCredentials_OfOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	tenant, err := w.store.EnsureOrganization(t.Context(), "tenant")
	require.NoError(t, err)
	project := w.project(1)
	_, err = w.store.PutCredential(t.Context(), credential.Place{Who: credential.Who{OrganizationID: tenant, ProjectID: project}, Kind: "github"}, "k", []byte("x"))
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), "it is no project of theirs")
	found, err := w.store.OrganizationOf(t.Context(), "", project)
	require.NoError(t, err)
	require.Equal(t, w.org, found)
	carol, err := w.store.EnsureOwner(t.Context(), tenant)
	require.NoError(t, err)
	found, err = w.store.OrganizationOf(t.Context(), carol, "")
	require.NoError(t, err)
	require.Equal(t, tenant, found)
	found, err = w.store.OrganizationOf(t.Context(), carol, project)
	require.NoError(t, err)
	require.Equal(t, w.org, found, "where the work is")
	_, err = w.store.OrganizationOf(t.Context(), task.NewID(), "")
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

func TestAcceptTask_StoresUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	key, secret, err := w.store.CreateKey(t.Context(), w.org, client.CreateAPIKeyRequest{User: "alice", Name: "laptop"})
	require.NoError(t, err)
	require.Equal(t, "alice", key.User)
	known, err := w.store.KeyBySecret(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, key.UserID, known.UserID)
	made, err := w.store.AcceptTask(t.Context(), task.NewTask{
		OrganizationID: w.org, UserID: known.UserID, ProjectID: w.project(1), Ticket: task.NewTicket{Title: "t", TicketType: "feature"}, Title: "t",
		TaskType: "implementation", PhaseID: "PHASE_IMPLEMENTATION", Priority: "MEDIUM", Mode: "implementation", Agent: "scripted", Provider: "external",
	})
	require.NoError(t, err)
	shown, err := w.store.Task(t.Context(), w.org, made.TaskID)
	require.NoError(t, err)
	require.Equal(t, known.UserID, shown.UserID)
	page, err := w.store.Tasks(t.Context(), w.org, client.TaskQuery{PageRequest: client.PageRequest{Limit: 1}})
	require.NoError(t, err)
	require.Equal(t, known.UserID, page.Items[0].UserID)
	work, err := w.store.Work(t.Context(), made.TaskID)
	require.NoError(t, err)
	require.Equal(t, known.UserID, work.UserID)
}
