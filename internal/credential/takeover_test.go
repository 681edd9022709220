package credential_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

// numbered returns a credential of the user alice.
func numbered(id, kind string, number int) credential.Row {
	row := rowOf(id, credential.Who{UserID: alice}, kind)
	row.Number = number
	return row
}

func TestChoose_TakesFirstWithoutCooldown(t *testing.T) {
	t.Parallel()
	soon := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	late := soon.Add(time.Hour)
	rows := []credential.Row{numbered("two", "openai", 2), numbered("one", "openai", 1), rowOf("all", credential.Who{}, "openai")}
	for name, c := range map[string]struct {
		cooldowns map[string]credential.Cooldown
		want      string
		until     time.Time
		instead   int // number of the chosen one; 0: the first
	}{
		"none limited":        {nil, "one 7", time.Time{}, 0},
		"first limited":       {map[string]credential.Cooldown{"one 7": {Until: late}}, "two 7", time.Time{}, 2},
		"an older secret":     {map[string]credential.Cooldown{"one 6": {Until: late}}, "one 7", time.Time{}, 0},
		"tried by this task":  {map[string]credential.Cooldown{"one 7": {Until: late, Probe: "t1"}}, "one 7", time.Time{}, 0},
		"tried by another":    {map[string]credential.Cooldown{"one 7": {Until: late, Probe: "t2"}}, "two 7", time.Time{}, 2},
		"both, second sooner": {map[string]credential.Cooldown{"one 7": {Until: late}, "two 7": {Until: soon}}, "two 7", soon, 2},
		"both, first sooner":  {map[string]credential.Cooldown{"one 7": {Until: soon}, "two 7": {Until: late}}, "one 7", soon, 0},
		"both at once":        {map[string]credential.Cooldown{"one 7": {Until: soon}, "two 7": {Until: soon}}, "one 7", soon, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := credential.Choose(rows, onOpenAI(""), credential.Rules{Cooldowns: c.cooldowns})
			require.Equal(t, c.want, got.Name)
			require.Equal(t, []string{"one 7", "two 7"}, got.All)
			require.Equal(t, c.until, got.Until)
			require.Equal(t, !c.until.IsZero(), got.Limited())
			require.Equal(t, c.instead > 0, got.Instead != nil)
			if got.Instead != nil {
				require.Equal(t, task.Takeover{Kind: "openai", Scope: "user", Number: 2, Limited: 1, Until: late}, *got.Instead)
			}
		})
	}
}

func onOpenAI(used string) task.Work {
	return task.Work{
		TaskID: "t1", OrganizationID: org, UserID: alice, Agent: task.AgentCommand, Credential: used,
		Execution: task.Execution{Credentials: []string{"openai"}},
	}
}

func TestChoose_SubscriptionsNeedTheOperator(t *testing.T) {
	t.Parallel()
	for kind, agent := range map[string]string{"claude_oauth": "claude", "github_copilot": "copilot"} {
		rows := []credential.Row{numbered("one", kind, 1), numbered("two", kind, 2), numbered("key", "anthropic", 1)}
		limited := map[string]credential.Cooldown{"one 7": {Until: time.Now()}}
		work := task.Work{TaskID: "t1", OrganizationID: org, UserID: alice, Agent: agent}
		got := credential.Choose(rows, work, credential.Rules{Cooldowns: limited})
		require.Equal(t, "one 7", got.Name)
		require.True(t, got.Limited())
		require.Equal(t, "two 7", credential.Choose(rows, work, credential.Rules{Cooldowns: limited, Subscriptions: true}).Name)
	}
}

func (b *bench) setNumber(kind string, number int, secret string) error {
	b.Helper()
	place := credential.Place{Who: credential.Who{OrganizationID: org, UserID: alice}, Kind: kind, Number: number}
	stored, err := b.service.Set(b.Context(), place, credential.Value{Secret: secret})
	if err == nil {
		require.Equal(b, number, stored.Number)
	}
	return err
}

// An attempt gets the credential that was chosen for it, also if a nearer one or another order exists by now.
func TestForTask_GivesTheChosenCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	require.NoError(t, b.setNumber("openai", 2, "second-key"))
	second := credential.OfStored(b.rows[0].ID) + "1"
	require.NoError(t, b.setNumber("openai", 1, "first-key"))
	for used, want := range map[string]string{"": "first-key", second: "second-key", "gone 1": "first-key", "task t1": "first-key"} {
		env, err := b.service.ForTask(t.Context(), onOpenAI(used))
		require.NoError(t, err)
		require.Equal(t, map[string]string{"OPENAI_API_KEY": want}, env, used)
	}
	b.set(credential.Who{UserID: bob}, "openai", "key-of-bob")
	foreign := credential.OfStored(b.rows[2].ID) + "1"
	env, err := b.service.ForTask(t.Context(), onOpenAI(foreign))
	require.NoError(t, err)
	require.Equal(t, "first-key", env["OPENAI_API_KEY"], "never another user's")

	hidden, err := b.service.Hidden(t.Context(), onOpenAI(second))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"OPENAI_API_KEY": "second-key", "OPENAI_API_KEY 1": "first-key", "OPENAI_API_KEY 2": "second-key"}, hidden)
}

func TestSet_Numbers(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	require.Equal(t, task.CodeInvalid, task.CodeOf(b.setNumber("openai", credential.MaxNumber+1, "tenth-key")))
	require.Equal(t, task.CodeInvalid, task.CodeOf(b.setNumber("github", 2, "ghp_second")))
	require.NoError(t, b.setNumber("claude_oauth", 1, "sk-ant-oat01-one"))
	err := b.setNumber("claude_oauth", 2, "sk-ant-oat01-two")
	require.Equal(t, task.CodeForbidden, task.CodeOf(err))
	require.ErrorContains(t, err, "OMOI_CREDENTIAL_ALLOW_SEVERAL_SUBSCRIPTIONS=true")
	require.Len(t, b.rows, 1)

	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(t, err)
	b.service = credential.New(credential.Config{Organization: org, Subscriptions: true}, ring, b.memory)
	require.NoError(t, b.setNumber("claude_oauth", 2, "sk-ant-oat01-two"))
}

func TestList_ShowsCooldowns(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	require.NoError(t, b.setNumber("openai", 1, "first-key"))
	require.NoError(t, b.setNumber("openai", 2, "second-key"))
	limited, until := b.rows[0], time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	b.cooldowns = map[string]credential.Cooldown{credential.OfStored(limited.ID) + strconv.FormatInt(limited.UpdatedAt.UnixMicro(), 10): {Until: until}}
	all, err := b.service.List(t.Context(), credential.Who{OrganizationID: org, UserID: alice})
	require.NoError(t, err)
	require.Equal(t, []*time.Time{&until, nil}, []*time.Time{all[0].ResetsAt, all[1].ResetsAt})
}

// A user with write access to the database cannot change the number of a credential.
func TestNumber_IsBoundToTheSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	require.NoError(t, b.setNumber("openai", 2, "second-key"))
	found, err := b.service.Find(t.Context(), credential.Who{OrganizationID: org, UserID: alice}, "openai", 2)
	require.NoError(t, err)
	require.Equal(t, "second-key", found.Secret)
	_, err = b.service.Find(t.Context(), credential.Who{OrganizationID: org, UserID: alice}, "openai", 3)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	b.rows[0].Number = 1
	_, err = b.service.Find(t.Context(), credential.Who{OrganizationID: org, UserID: alice}, "openai", 0)
	require.ErrorContains(t, err, "cannot be decrypted")
}

func TestStoredKind(t *testing.T) {
	t.Parallel()
	for number, want := range map[int]string{0: "openai", 1: "openai", 2: "openai#2", credential.MaxNumber: "openai#9"} {
		stored := credential.Place{Kind: "openai", Number: number}.StoredKind()
		require.Equal(t, want, stored)
		kind, parsed := credential.ParseKind(stored)
		require.Equal(t, "openai", kind)
		require.Equal(t, max(number, 1), parsed)
	}
}
