package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// credential stores a credential of the organization and returns its ID.
func (w world) credential(kind string, number int) string {
	w.t.Helper()
	place := credential.Place{Who: credential.Who{OrganizationID: w.org}, Kind: kind, Number: number}
	row, err := w.store.PutCredential(w.t.Context(), place, "k", []byte("sealed"))
	require.NoError(w.t, err)
	require.Equal(w.t, place, row.Place)
	return row.ID
}

// given returns the ID of the stored credential that the newest attempt of a task has, and whose place it took.
func (w world) given(a asked) (id string, instead *task.Takeover) {
	w.t.Helper()
	work, err := w.store.Work(w.t.Context(), a.id)
	require.NoError(w.t, err)
	return one[string](w.t, w.pool, `SELECT id::text FROM credentials WHERE starts_with($1, id::text)`, work.Credential), work.Takeover
}

// over ends all cooldowns, so that the credentials may be tried.
func (w world) over() {
	w.t.Helper()
	w.exec(`UPDATE credential_cooldowns SET until = clock_timestamp(), next_at = clock_timestamp()`)
}

const onAnthropic = `agent = 'command', execution_config = '{"credentials": ["anthropic"]}'`

func TestTakeover_NextAttemptUsesNextCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	second, first := w.credential("anthropic", 2), w.credential("anthropic", 1)
	p := w.project(5)
	a := w.task(p, onAnthropic)
	live := w.running(a)
	id, instead := w.given(a)
	require.Equal(t, first, id)
	require.Nil(t, instead)

	w.meetsLimit(a, live, 4, time.Hour)
	require.Equal(t, task.ReasonTakeover, w.waits(a.id).Code)
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Equal(t, 1, w.retries(a), "the task starts again before the reset, and is asked once")
	b := w.task(p, onAnthropic)
	require.True(t, w.holdsSlot(b.id), "a new task does not wait either")
	w.running(b)
	id, instead = w.given(b)
	require.Equal(t, second, id)
	require.NotNil(t, instead)
	require.WithinDuration(t, time.Now().Add(time.Hour), instead.Until, time.Minute)
	require.Equal(t, task.Takeover{Kind: "anthropic", Scope: "organization", Number: 2, Limited: 1, Until: instead.Until}, *instead)
	shown, err := w.store.Task(t.Context(), w.org, b.id)
	require.NoError(t, err)
	require.Equal(t, instead, shown.Last().Takeover)
}

// A repeated activity gets the attempt as it was written, whatever happened to the credentials since.
func TestTakeover_RepeatedActivityGetsSameCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	first, second := w.credential("anthropic", 1), w.credential("anthropic", 2)
	p := w.project(5)
	a, b := w.task(p, onAnthropic), w.task(p, onAnthropic)
	w.load(a)
	begun := w.begin(a, 1)
	w.hitsWall(b, w.running(b), 4)
	require.Equal(t, begun.SandboxID, w.begin(a, 1).SandboxID)
	id, instead := w.given(a)
	require.Equal(t, first, id)
	require.Nil(t, instead)

	c := w.task(p, onAnthropic)
	w.load(c)
	begun = w.begin(c, 1)
	w.exec(`DELETE FROM credential_cooldowns`)
	require.Equal(t, begun.SandboxID, w.begin(c, 1).SandboxID)
	id, instead = w.given(c)
	require.Equal(t, second, id)
	require.NotNil(t, instead)
}

func TestTakeover_WaitsForFirstOfTwoLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.credential("anthropic", 1)
	second := w.credential("anthropic", 2)
	p := w.project(5)
	a, b := w.task(p, onAnthropic), w.task(p, onAnthropic)
	w.meetsLimit(a, w.running(a), 4, 3*time.Hour)
	w.meetsLimit(b, w.running(b), 4, time.Hour)
	require.Equal(t, task.ReasonLimitReset, w.waits(b.id).Code, "its own credential resets first")
	require.Equal(t, 2, count(t, w.pool, `SELECT count(*) FROM credential_cooldowns`))
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Zero(t, w.retries(a), "both are limited")
	late := w.task(p, onAnthropic)
	require.False(t, w.holdsSlot(late.id))
	require.WithinDuration(t, time.Now().Add(time.Hour), *w.waits(late.id).Until, time.Minute, "the reset of the second is earlier")

	w.exec(`UPDATE credential_cooldowns SET until = clock_timestamp(), next_at = clock_timestamp() WHERE starts_with(credential, $1)`, second)
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Equal(t, 1, w.retries(a), "the second may be tried")
	require.True(t, w.holdsSlot(late.id), "by one task")
}

// While one task tries the first credential after its reset, the others use the second.
func TestTakeover_ProbeTriesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	first, second := w.credential("anthropic", 1), w.credential("anthropic", 2)
	p := w.project(5)
	a := w.task(p, onAnthropic)
	w.hitsWall(a, w.running(a), 4)
	w.over()
	w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	require.True(t, w.holdsSlot(a.id))
	b := w.task(p, onAnthropic)
	require.True(t, w.holdsSlot(b.id))
	w.begin(a, 6)
	w.running(b)
	id, _ := w.given(a)
	require.Equal(t, first, id, "it tries the credential")
	id, _ = w.given(b)
	require.Equal(t, second, id)
	w.exec(`UPDATE credential_cooldowns SET proven_at = clock_timestamp(), next_at = clock_timestamp()`)
	c := w.task(p, onAnthropic)
	w.running(c)
	id, instead := w.given(c)
	require.Equal(t, first, id, "it works again")
	require.Nil(t, instead)
}

// A credential of another owner or kind never takes over, and a subscription only if the operator allows it.
func TestTakeover_Bounds(t *testing.T) {
	t.Parallel()
	const onModel, onTwo = "agent = 'claude'", `agent = 'command', execution_config = '{"credentials": ["openai", "mistral"]}'`
	for name, c := range map[string]struct {
		first, second string // kinds
		shared        bool   // the second belongs to the organization, not to the project
		task          string
		allowed       bool
		retries       int
	}{
		"of the same owner":       {"anthropic", "anthropic", false, onAnthropic, false, 1},
		"of another owner":        {"anthropic", "anthropic", true, onAnthropic, false, 0},
		"a subscription":          {"claude_oauth", "claude_oauth", false, onModel, false, 0},
		"an allowed subscription": {"claude_oauth", "claude_oauth", false, onModel, true, 1},
		"of another kind":         {"claude_oauth", "anthropic", false, onModel, true, 0},
		"of a task with several":  {"openai", "openai", false, onTwo, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, postgres.Config{})
			require.NoError(t, w.store.AllowSubscriptions(t.Context(), c.allowed))
			who := credential.Who{OrganizationID: w.org, ProjectID: w.project(5)}
			a := w.task(who.ProjectID, c.task)
			for number, kind := range []string{c.first, c.second} {
				place := credential.Place{Who: who, Kind: kind, Number: number + 1}
				if c.shared && number > 0 {
					place.ProjectID = ""
				}
				_, err := w.store.PutCredential(t.Context(), place, "k", []byte("sealed"))
				require.NoError(t, err)
			}
			w.hitsWall(a, w.running(a), 4)
			require.NoError(t, w.store.CheckCooldowns(t.Context()))
			require.Equal(t, c.retries, w.retries(a))
		})
	}
}
