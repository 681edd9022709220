package postgres_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// pull is a task with an open pull request.
type pull struct {
	world

	store *postgres.Store
	repo  string
	root  asked
	sent  int
}

func (w world) pull(on feedback.Mode) *pull {
	w.t.Helper()
	p := &pull{world: w, store: postgres.New(w.pool, postgres.Config{}), repo: "acme/app-" + task.NewID()}
	project := w.project(5)
	w.exec(`UPDATE projects SET repo = $2, on_feedback = $3 WHERE id = $1`, project, p.repo, on)
	p.root = w.task(project, `branch_name = 'feature/x', base_commit = 'c0ffee', pull_request_number = 7, pull_request_url = 'https://github.com/acme/app/pull/7',
		description = 'Compute it.', title = 'Compute'`)
	return p
}

// at sets the status of the newest task of the pull request.
func (p *pull) at(status task.Status) {
	p.t.Helper()
	p.exec(`UPDATE tasks SET status = $2, sandbox_id = NULL WHERE id = $1`, p.newest(), status)
}

func (p *pull) newest() string {
	p.t.Helper()
	return one[string](p.t, p.pool, `SELECT t.id::text FROM tasks t JOIN projects p ON p.id = t.project_id WHERE p.repo = $1 ORDER BY t.created_at DESC, t.id DESC LIMIT 1`, p.repo)
}

// works starts an agent of the first task and returns its sandbox.
func (p *pull) works() string {
	p.t.Helper()
	p.load(p.root)
	box := p.begin(p.root, 1).SandboxID
	p.exec(`UPDATE tasks SET status = 'running', sandbox_id = $2 WHERE id = $1`, p.root.id, box)
	return box
}

// review returns a new review.
func (p *pull) review() feedback.Feedback {
	p.sent++
	id := fmt.Sprintf("%s-%d", p.repo, p.sent)
	digest := sha256.Sum256([]byte(id))
	return feedback.Feedback{
		Delivery: id, Digest: digest[:], At: time.Now(), Repo: strings.ToUpper(p.repo), Numbers: []int{7}, Kind: feedback.KindReview,
		Author: "alice", Opener: "omoi", Note: "Review by alice", Text: "This is wrong.", URL: "https://github.com/acme/app/pull/7#r1",
	}
}

func (p *pull) note(f feedback.Feedback) feedback.Noted {
	p.t.Helper()
	out, err := p.store.NoteFeedback(p.t.Context(), f)
	require.NoError(p.t, err)
	return out
}

// settle settles all pending feedback, whatever its due time.
func (p *pull) settle() feedback.Step {
	p.t.Helper()
	p.exec(`UPDATE feedback SET due_at = now() WHERE state = 'held'`)
	step, err := p.store.SettleFeedback(p.t.Context(), feedback.Policy{MaxRounds: 2})
	require.NoError(p.t, err)
	return step
}

func (p *pull) items() []feedback.Item {
	p.t.Helper()
	story, err := p.store.TaskFeedback(p.t.Context(), p.org, p.root.id)
	require.NoError(p.t, err)
	return story.Items
}

func TestSettleFeedback_SendsToRunningAgent(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeMessage)
	box := p.works()
	require.Equal(t, feedback.Noted{State: feedback.StatePending, TaskID: p.root.id}, p.note(p.review()))
	p.note(p.review())
	require.Equal(t, feedback.Step{Sandboxes: []string{box}}, p.settle())
	require.Empty(t, p.settle(), "it is told once")
	all, err := p.store.LeaseMessages(t.Context(), ingest.Taking{SandboxID: box})
	require.NoError(t, err)
	require.Len(t, all, 1, "what came together is one message")
	require.Equal(t, []string{ingest.MessageSystem, ingest.SenderSystem, "github"}, []string{all[0].Kind, all[0].SenderKind, all[0].SenderID})
	require.Contains(t, all[0].Content, "pull request #7 of "+p.repo)
	require.Contains(t, all[0].Content, "2. Review by alice\n   https://github.com/acme/app/pull/7#r1\n   > This is wrong.\n")
	require.Equal(t, []string{feedback.StateSent, p.root.id, all[0].ID}, []string{p.items()[0].State, p.items()[0].TaskID, p.items()[0].MessageID})
	won, err := p.store.AckMessage(t.Context(), box, all[0].ID, "taker")
	require.NoError(t, err)
	require.True(t, won)
	p.settle()
	require.Equal(t, feedback.StateAcknowledged, p.items()[0].State)
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Committed(int, int, int, time.Duration) {}
func (unmetered) Waited(time.Duration)                   {}
func (unmetered) TurnedAway()                            {}
func (unmetered) Lost(int)                               {}
func (unmetered) CheckpointFailed(string)                {}

// A message that was acknowledged and not used becomes pending feedback again.
func TestSettleFeedback_UnusedMessage(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	box := p.works()
	p.note(p.review())
	p.settle()
	said := []byte(`{"message_id":"` + p.items()[0].MessageID + `"}`)
	t.Cleanup(p.store.Close)
	intake := ingest.NewIntake(ingest.IntakeConfig{Meter: unmetered{}}, p.store, live.New(), slog.New(slog.DiscardHandler))
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	running.Go(func() { _ = intake.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	for _, c := range [][2]string{{event.AgentMessageInjected, feedback.StateAcknowledged}, {event.AgentMessageDropped, feedback.StateSent}} {
		_, err := intake.Single(t.Context(), box, ingest.Event{Type: c[0], Data: said}, false)
		require.NoError(t, err)
		p.settle()
		require.Equal(t, c[1], p.items()[0].State)
	}
	require.NotContains(t, string(said), p.items()[0].MessageID, "it is another message")
}

// Feedback that an agent did not read before it exited goes to the next agent, or starts a task.
func TestSettleFeedback_UnreadMessage(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	box := p.works()
	p.note(p.review())
	require.Len(t, p.settle().Sandboxes, 1)
	p.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	require.Empty(t, p.settle(), "the task goes on")
	require.Equal(t, feedback.StatePending, p.items()[0].State)
	p.at(task.StatusCompleted)
	started := p.settle().Started
	require.Len(t, started, 1)
	require.Equal(t, []string{feedback.StateTaskCreated, started[0], ""}, []string{p.items()[0].State, p.items()[0].TaskID, p.items()[0].MessageID})
}

// Feedback on a failed task waits; after a retry, its agent gets the feedback.
func TestSettleFeedback_FailedTaskWaits(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	p.at(task.StatusFailed)
	p.note(p.review())
	require.Empty(t, p.settle())
	require.Equal(t, feedback.StatePending, p.items()[0].State)
	require.Contains(t, p.items()[0].Reason, "after omoi retry")
	p.at(task.StatusPending)
	box := p.works()
	require.Equal(t, []string{box}, p.settle().Sandboxes)
	p.note(p.review())
	p.at(task.StatusFailed)
	p.exec(`UPDATE feedback SET created_at = now() - interval '1 hour' WHERE state = 'held'`)
	require.Empty(t, p.settle())
	require.Equal(t, 1, count(t, p.pool, `SELECT count(*) FROM feedback WHERE state = 'held' AND due_at > now() + interval '50 seconds'`), "it is looked at less and less")
}

// A validator's changes are not published, so feedback waits for the next working agent.
func TestSettleFeedback_NotToValidator(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	box := p.works()
	p.exec(`UPDATE attempts SET kind = 'validation' WHERE sandbox_id = $1`, box)
	p.exec(`UPDATE tasks SET status = 'validating' WHERE id = $1`, p.root.id)
	p.note(p.review())
	require.Empty(t, p.settle())
	require.Equal(t, feedback.StatePending, p.items()[0].State)
	p.exec(`UPDATE attempts SET kind = 'revision' WHERE sandbox_id = $1`, box)
	require.Equal(t, []string{box}, p.settle().Sandboxes)
}

// A completed task gets a follow-up task on its branch and pull request, up to a limit.
func TestSettleFeedback_StartsFollowUp(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	p.exec(`UPDATE tasks SET budget = '{"usd": 3}', execution_config = '{"test_command": "make"}', max_retries = 1, validation_rounds = 2 WHERE id = $1`, p.root.id)
	p.at(task.StatusCompleted)
	for round := 1; round <= 2; round++ {
		require.Equal(t, feedback.StatePending, p.note(p.review()).State)
		p.note(p.review())
		started := p.settle().Started
		require.Equal(t, []string{p.newest()}, started)
		got, err := p.store.Task(t.Context(), p.org, started[0])
		require.NoError(t, err)
		require.Equal(t, []any{"feature/x", 7, "https://github.com/acme/app/pull/7", "Revise: Compute", 1, 2, task.Budget{USD: 3}}, []any{
			*got.Branch, *got.PullNumber, *got.PullURL, got.Title, got.MaxRetries, got.Rounds, got.Budget,
		})
		require.JSONEq(t, `{"test_command": "make", "env": {"REQUIRE_CHANGES": "false"}}`, one[string](t, p.pool, `SELECT execution_config::text FROM tasks WHERE id = $1`, got.ID))
		require.Nil(t, got.Base, "it begins at the head of the branch, not where the first task did")
		require.Contains(t, got.Description, "> This is wrong.")
		require.Contains(t, got.Description, "What was asked first:\n\nCompute it.")
		require.Equal(t, 1, count(t, p.pool, `SELECT count(*) FROM commands WHERE task_id = $1 AND kind = 'start' AND sender = 'github'`, got.ID))
		require.False(t, one[bool](t, p.pool, `SELECT user_requested FROM tasks WHERE id = $1`, got.ID), "no person asked for it")
		p.note(p.review())
		require.Empty(t, p.settle().Started, "it has not begun yet, and is told when it has")
		p.at(task.StatusCompleted)
		p.exec(`UPDATE feedback SET state = 'heard' WHERE state = 'held'`)
	}
	p.note(p.review())
	require.Equal(t, []string{p.newest()}, p.settle().Dropped)
	last := p.items()[len(p.items())-1]
	require.Equal(t, feedback.StateIgnored, last.State)
	require.Contains(t, last.Reason, "2 of 2 tasks")
	story, err := p.store.TaskFeedback(t.Context(), p.org, p.newest())
	require.NoError(t, err)
	require.Len(t, story.Followers, 2)
	require.Equal(t, []string{p.root.id, story.Followers[0]}, []string{story.RootID, story.Follows})
}

// Each task of a pull request names the task before it and the task after it.
func TestTask_NamesItsNeighbors(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	read := func(id string) task.Task {
		got, err := p.store.Task(t.Context(), p.org, id)
		require.NoError(t, err)
		return got
	}
	var chain []string
	for range 3 {
		chain = append(chain, p.newest())
		p.at(task.StatusCompleted)
		_, err := p.store.ContinueTask(t.Context(), p.newest(), task.NewTask{OrganizationID: p.org}, "Return the error.")
		require.NoError(t, err)
	}
	first, second, third, last := read(chain[0]), read(chain[1]), read(chain[2]), read(p.newest())
	require.Equal(t, []string{"", first.Key, second.Key, third.Key}, []string{first.Continues, second.Continues, third.Continues, last.Continues})
	require.Equal(t, []string{second.Key, third.Key, last.Key, ""}, []string{first.ContinuedBy, second.ContinuedBy, third.ContinuedBy, last.ContinuedBy})
}

// Tasks that users create by comments do not count: their number is not what github.max_followup_tasks limits.
func TestSettleFeedback_LimitIsOfItsOwnTasks(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	for range 2 { // as many as the limit
		p.at(task.StatusCompleted)
		_, err := p.store.ContinueTask(t.Context(), p.newest(), task.NewTask{OrganizationID: p.org}, "a.go, line 7: Return the error.")
		require.NoError(t, err)
	}
	for range 2 {
		p.at(task.StatusCompleted)
		p.note(p.review())
		require.Len(t, p.settle().Started, 1)
	}
	p.at(task.StatusCompleted)
	p.note(p.review())
	require.Equal(t, []string{p.newest()}, p.settle().Dropped)
	require.Equal(t, 4, count(t, p.pool, `SELECT count(DISTINCT round) FROM follow_ups`))
}

// Duplicates by delivery ID, by content, or of the same failure count once.
func TestNoteFeedback_Duplicates(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	first := p.review()
	require.Equal(t, feedback.StatePending, p.note(first).State)
	require.Equal(t, feedback.StateRepeated, p.note(first).State)
	replayed := first
	replayed.Delivery = "another"
	require.Equal(t, feedback.StateRepeated, p.note(replayed).State)
	check := func(subject string, whole bool) string {
		f := p.review()
		f.Kind, f.Subject, f.Commit, f.Whole, f.Numbers, f.Branches = feedback.KindCheck, subject, "c1", whole, nil, []string{"feature/x"}
		return p.note(f).State
	}
	require.Equal(t, feedback.StatePending, check("check_run c1 unit", false))
	require.Equal(t, feedback.StateRepeated, check("check_run c1 unit", false))
	require.Equal(t, feedback.StatePending, check("check_run c1 lint", false))
	require.Equal(t, feedback.StateRepeated, check("check_suite c1 CI", true), "its checks were told")
	require.Len(t, p.items(), 3)
	require.Equal(t, feedback.StatePending, check("check_run c1 "+noise(5_000), false), "a name longer than an index takes")
	p.at(task.StatusCompleted)
	require.Len(t, p.settle().Started, 1)
	require.Equal(t, feedback.StateRepeated, p.note(first).State, "also after it was settled")
	require.Empty(t, p.settle())
}

// Many processes settle at once, and each is aborted once: one task, one message.
func TestSettleFeedback_Once(t *testing.T) {
	t.Parallel()
	for _, works := range []bool{false, true} {
		p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
		if works {
			p.works()
		} else {
			p.at(task.StatusCompleted)
		}
		p.note(p.review())
		p.exec(`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'killed'; END $$`)
		p.exec(`CREATE TRIGGER die BEFORE UPDATE ON feedback FOR EACH ROW WHEN (NEW.state <> 'held') EXECUTE FUNCTION die()`)
		_, err := p.store.SettleFeedback(t.Context(), feedback.Policy{MaxRounds: 2})
		require.ErrorContains(t, err, "killed")
		p.exec(`DROP TRIGGER die ON feedback`)
		require.Zero(t, count(t, p.pool, `SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM follow_ups)`))
		var all sync.WaitGroup
		errs := make([]error, 8)
		for n := range errs {
			all.Go(func() { _, errs[n] = p.store.SettleFeedback(t.Context(), feedback.Policy{MaxRounds: 2}) })
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		require.Equal(t, 1, count(t, p.pool, `SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM follow_ups)`))
	}
}

// Each case is ignored.
func TestNoteFeedback_Ignored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on     feedback.Mode
		change func(*pull, *feedback.Feedback)
		reason string
	}{
		"off":               {feedback.ModeOff, nil, "feedback is off for the project"},
		"another number":    {feedback.ModeRevise, func(_ *pull, f *feedback.Feedback) { f.Numbers = []int{8} }, "not a pull request of omoi"},
		"another branch":    {feedback.ModeRevise, func(_ *pull, f *feedback.Feedback) { f.Numbers, f.Branches = nil, []string{"main"} }, "not a pull request of omoi"},
		"another":           {feedback.ModeRevise, func(_ *pull, f *feedback.Feedback) { f.Repo = "acme/other" }, "not a pull request of omoi"},
		"closed":            {feedback.ModeRevise, func(_ *pull, f *feedback.Feedback) { f.PullClosed = true }, "is closed"},
		"omoi's account":    {feedback.ModeRevise, func(_ *pull, f *feedback.Feedback) { f.Author = "OMOI" }, "the account that omoi uses"},
		"too much":          {feedback.ModeRevise, func(p *pull, _ *feedback.Feedback) { p.flood() }, "limit of stored feedback"},
		"agent has account": {feedback.ModeRevise, func(p *pull, f *feedback.Feedback) { f.Author = "omoi"; p.ownToken(`{"credentials": ["github"]}`) }, "the account that omoi uses"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newWorld(t, postgres.Config{}).pull(c.on)
			f := p.review()
			if c.change != nil {
				c.change(p, &f)
			}
			got := p.note(f)
			require.Equal(t, feedback.StateIgnored, got.State)
			require.Contains(t, got.Reason, c.reason)
		})
	}
}

// A user who opened the pull request may request changes.
func TestNoteFeedback_OpenedByUser(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	p.ownToken(`{}`)
	f := p.review()
	f.Author = "omoi"
	require.Equal(t, feedback.StatePending, p.note(f).State)
}

func (p *pull) ownToken(execution string) {
	user := one[string](p.t, p.pool, `INSERT INTO users (organization_id, name) VALUES ($1, 'alice') RETURNING id::text`, p.org)
	p.exec(`INSERT INTO credentials (id, organization_id, user_id, kind, key_id, sealed) VALUES (gen_random_uuid(), $1, $2, 'github', 'k', 'x')`, p.org, user)
	p.exec(`UPDATE tasks SET user_id = $2, execution_config = $3 WHERE id = $1`, p.root.id, user, execution)
}

func (p *pull) flood() {
	p.exec(`INSERT INTO feedback (id, delivery, digest, root_id, kind, note, due_at)
		SELECT gen_random_uuid(), 'd' || n, int4send(n), $1, 'review', 'n', now() + interval '1 day' FROM generate_series(1, $2) n`, p.root.id, feedback.MaxPerPullRequest)
}

// A closed pull request gets no feedback until it is reopened; outdated states change nothing.
func TestNoteFeedback_ClosedPullRequest(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	p.at(task.StatusCompleted)
	p.note(p.review())
	news := func(state string, at time.Time) {
		f := p.review()
		f.Kind, f.PullState, f.At = feedback.KindPull, state, at
		require.Equal(t, feedback.StateNoted, p.note(f).State)
	}
	check := p.review()
	check.Kind = feedback.KindCheck
	now := time.Now()
	news(feedback.PullMerged, now)
	news(feedback.PullOpen, now.Add(-time.Hour))
	require.Equal(t, feedback.StateIgnored, p.note(check).State)
	require.Len(t, p.settle().Dropped, 1)
	require.Equal(t, "the pull request is closed", p.items()[0].Reason)
	news(feedback.PullOpen, now.Add(time.Hour))
	require.Equal(t, feedback.StatePending, p.note(check).State)
	require.Len(t, p.settle().Started, 1)
}

// Old feedback is deleted once it is settled; a replay of it is too old by then.
func TestNoteFeedback_DeletesOldFeedback(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	p.note(p.review())
	p.exec(`UPDATE feedback SET state = 'ignored', created_at = now() - interval '73 hours'`)
	p.note(p.review())
	require.Len(t, p.items(), 1)
	require.Equal(t, feedback.StatePending, p.items()[0].State)
}

// noise returns a text that cannot be compressed.
func noise(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
