package postgres_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// noticed is a receiver of notices.
type noticed struct {
	url string

	mu     sync.Mutex
	ids    []string
	events []string
	texts  []string
	news   chan struct{}
}

func newNoticed(tb testing.TB, handle http.HandlerFunc) *noticed {
	tb.Helper()
	n := &noticed{news: make(chan struct{}, 10_000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		n.mu.Lock()
		n.ids = append(n.ids, r.Header.Get(notice.HeaderDelivery))
		n.events = append(n.events, r.Header.Get(notice.HeaderEvent))
		n.texts = append(n.texts, string(text))
		n.mu.Unlock()
		n.news <- struct{}{}
		if handle != nil {
			handle(w, r)
		}
	}))
	tb.Cleanup(server.Close)
	n.url = server.URL + "/planted-in-the-path"
	return n
}

// notifier returns the notice service of the world's store.
func (w world) notifier() *notice.Service {
	w.t.Helper()
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(w.t, err)
	return notice.New(notice.Config{
		Interval: time.Millisecond, PageURL: func() string { return "http://omoi.example" },
		Client: func(req *http.Request) (*http.Client, error) { return credential.Client(req, true) },
	}, notice.Deps{Store: w.store, Ring: ring, Log: slog.New(slog.DiscardHandler)})
}

func (w world) rule(s *notice.Service, url string, events ...string) notice.Rule {
	w.t.Helper()
	r, err := s.Create(w.t.Context(), notice.NewRule{
		Rule:    notice.Rule{OrganizationID: w.org, Channel: notice.ChannelWebhook, Events: events},
		Address: notice.Address{URL: url, Secret: "the-secret-of-the-webhook"},
	})
	require.NoError(w.t, err)
	return r
}

func (w world) notices() []client.Notice {
	w.t.Helper()
	page, err := w.store.Notices(w.t.Context(), w.org, client.NoticeQuery{PageRequest: client.PageRequest{Limit: 500}})
	require.NoError(w.t, err)
	return page.Items
}

func TestNotices_OncePerStateOfATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	s, got := w.notifier(), newNoticed(t, nil)
	w.rule(s, got.url, notice.Events()...)
	a := w.task(w.project(5), "")
	live := w.running(a)
	for range 3 { // the workflow repeats a projection, and the agent says again that it waits
		w.write(a, contract.Projection{Ordinal: 20, Status: task.StatusRunning, SandboxID: live.SandboxID})
		w.exec(`INSERT INTO agent_waits (sandbox_id, since) VALUES ($1, now()) ON CONFLICT (sandbox_id) DO UPDATE SET since = excluded.since`, live.SandboxID)
	}
	w.exec(`UPDATE sandboxes SET last_work_at = clock_timestamp() WHERE id = $1`, live.SandboxID)
	w.exec(`UPDATE agent_waits SET since = clock_timestamp()`) // waits again after its work
	w.fails(a, live, 21, task.StatusFailed)
	w.exec(`UPDATE tasks SET status = 'pending', completed_at = NULL`)
	w.exec(`UPDATE tasks SET status = 'failed', completed_at = clock_timestamp()`)
	for _, blocked := range []string{"budget", "", "budget", "review", "suspended"} {
		w.exec(`UPDATE tasks SET status = 'pending', blocked_reason = $1`, blocked)
	}
	w.exec(`UPDATE tasks SET status = 'completed', blocked_reason = '', completed_at = clock_timestamp()`)
	for range 12 {
		require.NoError(t, s.Send(t.Context()))
	}
	require.Equal(t, []string{"started", "needs_you", "needs_you", "failed", "failed", "needs_you", "needs_you", "done"}, got.events)
	for _, n := range w.notices() {
		require.Equal(t, explain.DeliveryDelivered, n.Delivery.State, n)
		require.Equal(t, []any{a.id, w.row(a.id, "key"), 1}, []any{n.TaskID, n.TaskKey, n.Delivery.Attempts})
	}
}

// A budget of a project makes one notice, also if several of its agents are told. A rule that wants both events of a used budget gets one.
func TestNotices_OfBudgetsAndLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	s, got := w.notifier(), newNoticed(t, nil)
	w.rule(s, got.url, notice.BudgetNear, notice.LimitReached, notice.NeedsYou)
	shared := w.project(5)
	first, second, own := w.task(shared, ""), w.task(shared, ""), w.task(w.project(5), "")
	for _, a := range []asked{first, second, own} {
		w.spends(w.running(a).SandboxID, 4.2, 10)
	}
	w.exec(`UPDATE projects SET budget = '{"usd": 10}' WHERE id = $1`, shared)
	w.exec(`UPDATE tasks SET budget = '{"usd": 5}' WHERE id = $1`, own.id)
	w.enforce()
	w.enforce()
	w.exec(`UPDATE tasks SET status = 'pending', blocked_reason = 'budget' WHERE id = $1`, own.id)
	w.exec(`UPDATE tasks SET status = 'pending', blocked_reason = 'provider_limit' WHERE id = $1`, first.id)
	for range 6 {
		require.NoError(t, s.Send(t.Context()))
	}
	slices.Sort(got.events)
	require.Equal(t, []string{"budget_near", "budget_near", "limit_reached", "needs_you"}, got.events)
	require.Contains(t, strings.Join(got.texts, "\n"), "4.20 of 5.00 USD")
	require.Contains(t, strings.Join(got.texts, "\n"), "8.40 of 10.00 USD")
}

// An alert makes one notice, until it ends and is raised again.
func TestNotices_OfAlerts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	s, got := w.notifier(), newNoticed(t, nil)
	w.rule(s, got.url, notice.Alert)
	for _, text := range []string{"2 sandboxes are unverified", "3 sandboxes are unverified", "", "2 sandboxes are unverified"} {
		require.NoError(t, w.store.SetAlert(t.Context(), "unverified", text))
	}
	for range 3 {
		require.NoError(t, s.Send(t.Context()))
	}
	require.Equal(t, []string{"alert", "alert"}, got.events)
	require.Contains(t, got.texts[0], "2 sandboxes are unverified")
	require.Contains(t, got.texts[0], "/fleet")
	for _, n := range w.notices() {
		require.Equal(t, []any{"", "omoi needs its operator"}, []any{n.TaskID, n.Title})
	}
}

// A question is one state, while the agent waits for the answer and while the task is suspended for it.
func TestNotices_OnceForEachQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	s, got := w.notifier(), newNoticed(t, nil)
	w.rule(s, got.url, notice.NeedsYou)
	a := w.task(w.project(5), "")
	live := w.running(a)
	ask := `INSERT INTO questions (id, organization_id, task_id, sandbox_id, attempt, sequence, kind, text, options, asked_at)
		VALUES (gen_random_uuid(), $1, $2, $3, 1, 1, 'question', 'Which database?', '["PostgreSQL"]', now())`
	waits := `INSERT INTO agent_waits (sandbox_id, since) VALUES ($1, now()) ON CONFLICT (sandbox_id) DO UPDATE SET since = excluded.since`
	for range 2 { // the second question is asked after the first one was answered
		w.exec(ask, w.org, a.id, live.SandboxID)
		w.exec(waits, live.SandboxID)
		w.exec(`UPDATE tasks SET status = 'pending', blocked_reason = 'question'`)
		w.exec(`UPDATE questions SET state = 'answered', settled_at = now()`)
		w.exec(`UPDATE sandboxes SET last_work_at = clock_timestamp()`)
		w.exec(`UPDATE tasks SET status = 'running', blocked_reason = ''`)
	}
	for range 4 {
		require.NoError(t, s.Send(t.Context()))
	}
	require.Equal(t, []string{"needs_you", "needs_you"}, got.events)
	require.Contains(t, got.texts[0], "Which database?")
}

// The database and package task agree on what needs a user.
func TestNotices_NeedsUserIsGroupNeedsYou(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	for _, status := range task.Statuses() {
		for _, blocked := range append(task.BlockedReasons(), task.BlockedNone) {
			require.Equal(t, task.GroupOf(status, blocked) == task.GroupNeedsYou,
				one[bool](t, w.pool, `SELECT omoi_needs_user($1, $2)`, string(status), string(blocked)), "%s %s", status, blocked)
		}
	}
}

func TestNotices_ByUserAndProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	s, other := w.notifier(), w.project(5)
	user, err := w.store.EnsureUser(t.Context(), w.org, "alice")
	require.NoError(t, err)
	project := w.project(5)
	create := func(n notice.Rule) string {
		n.OrganizationID, n.Channel, n.Events = w.org, notice.ChannelSlack, []string{notice.Done}
		r, err := s.Create(t.Context(), notice.NewRule{Rule: n, Address: notice.Address{URL: "https://hooks.example/planted"}})
		require.NoError(t, err)
		return r.ID
	}
	hers, ofProject := create(notice.Rule{UserID: user}), create(notice.Rule{ProjectID: project})
	disabled := create(notice.Rule{})
	w.exec(`UPDATE notice_rules SET enabled = false WHERE id = $1`, disabled)
	both, neither := w.task(project, "user_id = '"+user+"'"), w.task(other, "")
	w.exec(`UPDATE tasks SET status = 'completed', completed_at = now()`)
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM deliveries WHERE task_id = $1 OR rule_id = $2`, neither.id, disabled))
	require.Equal(t, 2, count(t, w.pool, `SELECT count(*) FROM deliveries WHERE task_id = $1 AND rule_id IN ($2, $3)`, both.id, hers, ofProject))
	require.Len(t, w.notices(), 1, "the notices of a user are hers")
	_, err = s.Create(t.Context(), notice.NewRule{
		Rule:    notice.Rule{OrganizationID: w.org, ProjectID: task.NewID(), Channel: notice.ChannelSlack},
		Address: notice.Address{URL: "https://hooks.example/planted"},
	})
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

// forgetful fails to record outcomes, as a process that is killed after a request.
type forgetful struct{ *postgres.Store }

func (forgetful) SettleDelivery(context.Context, notice.Outcome) error { return context.Canceled }

func TestNotices_ProcessKilledAfterTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	got := newNoticed(t, nil)
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(t, err)
	with := func(store notice.Store) *notice.Service {
		return notice.New(notice.Config{
			PageURL: func() string { return "" }, Client: func(*http.Request) (*http.Client, error) { return http.DefaultClient, nil },
		}, notice.Deps{Store: store, Ring: ring, Log: slog.New(slog.DiscardHandler)})
	}
	w.rule(with(w.store), got.url, notice.Done)
	w.task(w.project(5), "")
	w.exec(`UPDATE tasks SET status = 'completed', completed_at = now()`)
	require.NoError(t, with(forgetful{w.store}).Send(t.Context()))
	require.NoError(t, with(w.store).Send(t.Context()))
	require.Len(t, got.ids, 1, "the delivery is leased")
	w.exec(`UPDATE deliveries SET due_at = now()`) // the lease expires
	require.NoError(t, with(w.store).Send(t.Context()))
	require.NoError(t, with(w.store).Send(t.Context()))
	require.Equal(t, []string{got.ids[0], got.ids[0]}, got.ids, "at least once, with the same ID")
}

// A receiver that hangs has one request under way; all others get their notices, and tasks change.
func TestNotices_HangingReceiverDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	s, release := w.notifier(), make(chan struct{})
	hangs := newNoticed(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	works := newNoticed(t, nil)
	w.rule(s, hangs.url, notice.Done)
	w.task(w.project(5), "")
	w.exec(`UPDATE tasks SET status = 'completed', completed_at = now()`)
	w.exec(`INSERT INTO deliveries (id, rule_id, task_id, event, task_state, state, body)
		SELECT gen_random_uuid(), rule_id, task_id, event, n::text, state, body FROM deliveries, generate_series(1, 999) n`)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	<-hangs.news
	w.rule(s, works.url, notice.Done, notice.Started)
	a := w.task(w.project(5), "")
	w.finish(a, w.running(a), 20, task.StatusCompleted)
	<-works.news
	<-works.news
	require.Equal(t, []string{"started", "done"}, works.events)
	require.Len(t, hangs.ids, 1)
	stop()
	close(release)
	running.Wait()
}

// A receiver that refuses is shown, is not asked for each of its notices, and gets all of them when it works again.
func TestNotices_RefusingReceiverIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	var mu sync.Mutex
	code := http.StatusForbidden
	s := w.notifier()
	got := newNoticed(t, func(rw http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		rw.WriteHeader(code)
	})
	rule := w.rule(s, got.url, notice.Done)
	for range 3 {
		w.task(w.project(5), "")
	}
	w.exec(`UPDATE tasks SET status = 'completed', completed_at = now()`)
	for range 3 {
		require.NoError(t, s.Send(t.Context()))
	}
	require.Len(t, got.ids, 1, "the rule waits")
	shown, err := s.Get(t.Context(), notice.RuleQuery{OrganizationID: w.org, ID: rule.ID})
	require.NoError(t, err)
	require.Equal(t, []any{1, 3, "the receiver answered 403"}, []any{shown.Failures, shown.Pending, shown.Error})
	require.NotNil(t, shown.RetryAt)
	mu.Lock()
	code = http.StatusOK
	mu.Unlock()
	w.exec(`UPDATE notice_rules SET due_at = now()`)
	w.exec(`UPDATE deliveries SET due_at = now()`)
	for range 4 {
		require.NoError(t, s.Send(t.Context()))
	}
	shown, err = s.Get(t.Context(), notice.RuleQuery{OrganizationID: w.org, ID: rule.ID})
	require.NoError(t, err)
	require.Equal(t, []any{0, 0, ""}, []any{shown.Failures, shown.Pending, shown.Error})
	require.Len(t, got.ids, 4)
}

// Address and secret of a rule are nowhere in the database.
func TestNotices_SecretsAreEncrypted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	s, got := w.notifier(), newNoticed(t, nil)
	rule := w.rule(s, got.url, notice.Done)
	w.task(w.project(5), "")
	w.exec(`UPDATE tasks SET status = 'completed', completed_at = now()`)
	require.NoError(t, s.Send(t.Context()))
	_, err := s.Update(t.Context(), rule, notice.Edit{Events: &[]string{notice.Failed}})
	require.NoError(t, err)
	stored := one[string](t, w.pool, `SELECT (SELECT json_agg(r) FROM notice_rules r)::text || (SELECT json_agg(d) FROM deliveries d)::text`)
	require.NotContains(t, stored, "planted-in-the-path")
	require.NotContains(t, stored, "of-the-webhook")
	shown, err := json.Marshal(w.notices())
	require.NoError(t, err)
	require.NotContains(t, string(shown), "planted-in-the-path")
	require.NoError(t, s.Delete(t.Context(), rule))
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM deliveries`))
}
