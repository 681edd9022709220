package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

const day = 24 * time.Hour

// past is a world with an adjustable clock.
type past struct {
	world

	project string
	now     time.Time
}

func newPast(t *testing.T, days int) *past {
	t.Helper()
	w := newWorld(t, postgres.Config{})
	return &past{world: w, project: w.project(100), now: time.Now().UTC().Truncate(time.Second).AddDate(0, 0, -days)}
}

// worked is a task and the sandbox of its only attempt.
type worked struct{ task, box, patch string }

// start creates a task with a new sandbox.
func (p *past) start() worked {
	p.t.Helper()
	w := worked{task: task.NewID(), box: task.NewSandboxID(), patch: task.NewID()}
	ticket := task.NewID()
	p.exec(`INSERT INTO tickets (id, project_id, title) VALUES ($1, $2, 'ticket')`, ticket, p.project)
	p.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider, status, created_at)
		VALUES ($1, $2, $3, $4, 'title', 'text', 'scripted', 'local', 'running', $5)`, w.task, p.org, p.project, ticket, p.now)
	p.exec(`SELECT omoi_partition($1)`, p.now)
	p.exec(`INSERT INTO sandboxes (id, partition_month, organization_id, task_id, attempt, provider, host_bound, machine, state, created_at)
		VALUES ($1, date_trunc('month', $2::timestamptz), $3, $4, 1, 'local', true, true, 'running', $2)`, w.box, p.now, p.org, w.task)
	p.exec(`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, started_at) VALUES ($1, 1, $2, 'run', 1, $3)`, w.task, w.box, p.now)
	p.exec(`INSERT INTO transcripts (run_key, task_id, sandbox_id, content) VALUES ($1, $2, $3, 'said')`, "run-"+w.box, w.task, w.box)
	p.exec(`INSERT INTO stored_texts (id, task_id, kind, content) VALUES ($1, $2, 'patch', 'diff')`, w.patch, w.task)
	p.exec(`INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, created_at) VALUES ($1, 'x', 'task', $2, $3)`, p.org, w.task, p.now)
	return w
}

// report stores events of a sandbox, the last one with a large field.
func (p *past) report(w worked, events int) {
	p.t.Helper()
	p.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, created_at, cut)
		SELECT s.id, s.last_sequence + n, s.partition_month, 'agent.tool_use', $3, n = $2::integer FROM sandboxes s, generate_series(1, $2::integer) n WHERE s.id = $1`, w.box, events, p.now)
	p.exec(`INSERT INTO event_fields (sandbox_id, sequence, partition_month, names, fields)
		SELECT id, last_sequence + $2, partition_month, '{diff}', jsonb_build_object('diff', repeat('x', 20000)) FROM sandboxes WHERE id = $1`, w.box, events)
	p.exec(`UPDATE sandboxes SET last_sequence = last_sequence + $2, spool_id = 's', spool_watermark = last_sequence + $2 WHERE id = $1`, w.box, events)
}

// end completes a task and verifies the deletion of its sandbox.
func (p *past) end(w worked, status task.Status) {
	p.t.Helper()
	p.exec(`UPDATE attempts SET ended_at = $2, outcome = $3 WHERE task_id = $1`, w.task, p.now, status)
	p.exec(`UPDATE tasks SET status = $3, completed_at = $2, attempt_count = 1 WHERE id = $1`, w.task, p.now, status)
	p.exec(`UPDATE sandboxes SET state = 'gone', ended_at = $2, gone_at = $2, verified_at = $2,
		salvage = jsonb_build_object('kind', 'patch', 'ref', $3::text) WHERE id = $1`, w.box, p.now, w.patch)
}

// pass removes data of tasks that ended longer than keep ago.
func (p *past) pass(keep time.Duration, kinds ...string) (total retention.Step) {
	p.t.Helper()
	for _, kind := range kinds {
		for more := true; more; {
			done, err := p.store.Retain(p.t.Context(), kind, p.now, p.now.Add(-keep))
			require.NoError(p.t, err)
			total.Rows, total.Partitions, more = total.Rows+done.Rows, total.Partitions+done.Partitions, done.More
		}
	}
	return total
}

func (p *past) gapless(box string) bool {
	p.t.Helper()
	found, err := p.store.Integrity(p.t.Context(), box)
	require.NoError(p.t, err)
	return found.Gapless
}

func stored() []string {
	return []string{retention.LargeFields, retention.Events, retention.Transcripts, retention.Patches, retention.BusRows}
}

// A sandbox without events may still report, so the partition of its month is kept.
func TestRetention_KeepsTheMonthOfASilentSandbox(t *testing.T) {
	t.Parallel()
	p := newPast(t, 100)
	done, silent := p.start(), p.start()
	p.report(done, 3)
	p.end(done, task.StatusCompleted)
	p.now = p.now.AddDate(0, 0, 50)
	total := p.pass(day, retention.Events)
	require.Equal(t, []int64{0, 3}, []int64{total.Partitions, total.Rows})
	p.report(silent, 2)
	require.True(t, p.gapless(silent.box))

	p.end(silent, task.StatusCompleted)
	p.now = p.now.AddDate(0, 0, 40)
	require.EqualValues(t, 1, p.pass(day, retention.Events).Partitions, "once it has ended too")
}

// One task every five days over 400 days: data of tasks that ended more than 60 days ago is removed, newer and open
// tasks stay complete, and the storage levels off.
func TestRetention_FourHundredDays(t *testing.T) {
	t.Parallel()
	const keep, step, events = 60 * day, 5, 7
	p := newPast(t, 400)
	open := p.start()
	type past struct {
		worked

		ended time.Time
	}
	var all []past
	var partitions int64
	for n := 0; n <= 400; n += step {
		p.report(open, 3)
		w := p.start()
		p.report(w, events)
		p.now = p.now.Add(day)
		p.end(w, task.StatusCompleted)
		all = append(all, past{w, p.now})
		p.now = p.now.Add((step - 1) * day)
		partitions += p.pass(keep, stored()...).Partitions
		require.True(t, p.gapless(open.box), "the open task after %d days", n)
		young := 0
		for _, one := range all {
			if p.now.Sub(one.ended) > keep {
				_, err := p.store.Integrity(t.Context(), one.box)
				require.Equal(t, task.CodeGone, task.CodeOf(err))
				continue
			}
			young++
			require.True(t, p.gapless(one.box))
		}
		left := young*events + count(t, p.pool, `SELECT last_sequence FROM sandboxes WHERE id = $1`, open.box)
		require.Equal(t, left, count(t, p.pool, `SELECT count(*) FROM sandbox_events`))
		require.Equal(t, young+1, count(t, p.pool, `SELECT count(*) FROM transcripts WHERE content <> ''`))
		require.Equal(t, young+1, count(t, p.pool, `SELECT count(*) FROM stored_texts`))
		require.LessOrEqual(t, count(t, p.pool, `SELECT count(*) FROM bus_events WHERE event_type = 'x'`), young+2)
	}
	require.GreaterOrEqual(t, partitions, int64(8), "whole months are dropped")
	require.Equal(t, len(all)+1, count(t, p.pool, `SELECT count(*) FROM tasks`), "tasks stay")
	require.Equal(t, len(all)+1, count(t, p.pool, `SELECT count(*) FROM sandboxes WHERE last_sequence > 0`), "receipts stay")
	require.Equal(t, 1, count(t, p.pool, `SELECT count(*) FROM bus_events WHERE event_type = 'x' AND entity_id = $1`, open.task))
	month := p.now.AddDate(0, 0, -405).Format("200601")
	require.True(t, one[bool](t, p.pool, `SELECT to_regclass($1) IS NOT NULL`, "sandbox_events_"+month), "its month has the open task")
	p.end(open, task.StatusCompleted)
	p.now = p.now.Add(keep + day)
	p.pass(keep, stored()...)
	require.Zero(t, count(t, p.pool, `SELECT count(*) FROM sandbox_events`)+count(t, p.pool, `SELECT count(*) FROM event_fields`))
}

// A sandbox that may still exist, or a pending retry, keeps a task open.
func TestRetention_KeepsWhatHasNotEnded(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]string{
		"running":        `UPDATE tasks SET status = 'running', completed_at = NULL WHERE id = $1`,
		"unverified":     `UPDATE sandboxes SET verified_at = NULL WHERE task_id = $1`,
		"retried":        `INSERT INTO commands (id, task_id, kind) VALUES (gen_random_uuid(), $1, 'retry')`,
		"ended too late": `UPDATE tasks SET completed_at = now() WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPast(t, 100)
			w := p.start()
			p.report(w, 3)
			p.end(w, task.StatusFailed)
			p.exec(edit, w.task)
			p.now = p.now.Add(99 * day)
			p.pass(60*day, stored()...)
			require.True(t, p.gapless(w.box))
			require.Equal(t, 3, count(t, p.pool, `SELECT (SELECT count(*) FROM transcripts WHERE content <> '') + (SELECT count(*) FROM stored_texts)
				+ (SELECT count(*) FROM event_fields WHERE fields <> '{}')`))
		})
	}
}

// An interrupted pass continues, and readers see the marks.
func TestRetention_ContinuesAnInterruptedPass(t *testing.T) {
	t.Parallel()
	p := newPast(t, 100)
	w := p.start()
	p.report(w, 25_000)
	p.end(w, task.StatusFailed)
	p.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ($1, 'events', now())`, w.box)
	p.exec(`DELETE FROM sandbox_events WHERE sequence < 5000`)
	_, err := p.store.Integrity(t.Context(), w.box)
	require.Equal(t, task.CodeGone, task.CodeOf(err))
	events, err := p.store.EventsAfter(t.Context(), w.box, 0, 10)
	require.Equal(t, task.CodeGone, task.CodeOf(err))
	require.Empty(t, events, "none of those that are left")
	require.EqualValues(t, 20_001, p.pass(60*day, retention.Events).Rows)
	require.Zero(t, count(t, p.pool, `SELECT count(*) FROM removals WHERE NOT done`))
}

// Readers get the time of removal; legacy pages are empty.
func TestRetention_Readers(t *testing.T) {
	t.Parallel()
	p, ctx := newPast(t, 100), t.Context()
	w := p.start()
	p.report(w, 1200)
	_, err := p.store.Events(ctx, ingest.EventQuery{SandboxID: w.box, Type: "agent.tool_use", Limit: 10}) // creates the count blocks
	require.NoError(t, err)
	p.end(w, task.StatusFailed)
	p.now = p.now.Add(90 * day)
	p.pass(60*day, stored()...)
	page, err := p.store.Events(ctx, ingest.EventQuery{SandboxID: w.box, Limit: 10})
	require.NoError(t, err)
	require.Zero(t, page.Total)
	require.Empty(t, page.Events)
	trajectory, err := p.store.Trajectory(ctx, ingest.TrajectoryQuery{SandboxID: w.box, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, trajectory.Events)
	_, _, err = p.store.PhaseStatus(ctx, w.box)
	require.NoError(t, err)
	run := "run-" + w.box
	for name, ask := range map[string]func() error{
		"counts":             func() error { _, err := p.store.EventCounts(ctx, w.box); return err },
		"event":              func() error { _, err := p.store.Event(ctx, w.box, 7); return err },
		"sandbox transcript": func() error { _, err := p.store.SandboxTranscript(ctx, w.box, run); return err },
		"task transcript":    func() error { _, err := p.store.TaskTranscript(ctx, p.org, w.task, run); return err },
		"task events":        func() error { _, err := p.store.TaskEventsAfter(ctx, w.task, ingest.Cursor{}, 10); return err },
		"a cursor": func() error {
			_, err := p.store.TaskEventsAfter(ctx, w.task, ingest.Cursor{Attempt: 1, Sequence: 8}, 10)
			return err
		},
	} {
		err := ask()
		require.Equal(t, task.CodeGone, task.CodeOf(err), name)
		require.Contains(t, task.MessageOf(err), p.now.Format(time.DateOnly), name)
	}
	end, err := p.store.TaskEventsAfter(ctx, w.task, ingest.Cursor{Attempt: 1, Sequence: 1200}, 10)
	require.NoError(t, err, "who has read all is at the end")
	require.Empty(t, end.Events)
	saved, err := p.store.SavedWork(ctx, p.org, w.task)
	require.NoError(t, err)
	require.NotNil(t, saved[0].RemovedAt)
	require.EqualValues(t, 1200, one[int64](t, p.pool, `SELECT spool_watermark FROM sandboxes WHERE id = $1`, w.box), "marks of senders stay")
}

// Large fields are removed before their events; the events stay and name the missing fields.
func TestRetention_LargeFieldsAlone(t *testing.T) {
	t.Parallel()
	p := newPast(t, 100)
	w := p.start()
	p.report(w, 3)
	p.end(w, task.StatusCompleted)
	p.now = p.now.Add(90 * day)
	p.pass(60*day, retention.LargeFields)
	require.True(t, p.gapless(w.box))
	e, err := p.store.Event(t.Context(), w.box, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"diff"}, e.Omitted)
	require.Equal(t, task.CodeGone, task.CodeOf(p.store.FieldsKept(t.Context(), w.box)))
}

// After a removal, a retry has events and a transcript of its own, and its agent learns that the earlier one is
// removed.
func TestRetention_RetryOfAnOldTask(t *testing.T) {
	t.Parallel()
	p, ctx := newPast(t, 100), t.Context()
	w := p.start()
	p.report(w, 3)
	p.end(w, task.StatusFailed)
	p.now = p.now.Add(90 * day)
	p.pass(60*day, stored()...)
	second := worked{task: w.task, box: task.NewSandboxID()}
	p.exec(`UPDATE tasks SET status = 'running', completed_at = NULL WHERE id = $1`, w.task)
	p.second(second)
	p.report(second, 4)
	info, found, err := p.store.EarlierTranscript(ctx, w.task, 2)
	require.NoError(t, err)
	require.True(t, found)
	_, err = p.store.SandboxTranscript(ctx, second.box, info.RunID)
	require.Equal(t, task.CodeGone, task.CodeOf(err))
	page, err := p.store.TaskEventsAfter(ctx, w.task, ingest.Cursor{}, 10)
	require.NoError(t, err)
	require.Len(t, page.Events, 4)
	_, err = p.store.TaskEventsAfter(ctx, w.task, ingest.Cursor{Attempt: 1, Sequence: 2}, 10)
	require.Equal(t, task.CodeGone, task.CodeOf(err))
	after, err := p.store.TaskEventsAfter(ctx, w.task, page.Next(), 10)
	require.NoError(t, err)
	require.Empty(t, after.Events)
	p.pass(60*day, stored()...)
	require.True(t, p.gapless(second.box))
}

// second begins the second attempt of a task.
func (p *past) second(w worked) {
	p.t.Helper()
	p.exec(`INSERT INTO sandboxes (id, partition_month, organization_id, task_id, attempt, provider, host_bound, machine, state)
		VALUES ($1, date_trunc('month', $2::timestamptz), $3, $4, 2, 'local', true, true, 'running')`,
		w.box, p.now, p.org, w.task)
}

// A reader that has read only the first attempt learns that both are removed.
func TestRetention_ReaderBetweenTwoAttempts(t *testing.T) {
	t.Parallel()
	p, ctx := newPast(t, 100), t.Context()
	w := p.start()
	p.report(w, 3)
	second := worked{task: w.task, box: task.NewSandboxID(), patch: w.patch}
	p.second(second)
	p.report(second, 4)
	p.end(w, task.StatusFailed)
	p.end(second, task.StatusFailed)
	p.now = p.now.Add(90 * day)
	p.pass(60*day, retention.Events)
	_, err := p.store.TaskEventsAfter(ctx, w.task, ingest.Cursor{Attempt: 1, Sequence: 3}, 10)
	require.Equal(t, task.CodeGone, task.CodeOf(err))
	both := ingest.Cursor{Attempt: 1, Sequence: 3}.Known(2, 4)
	for _, read := range []ingest.Cursor{both, {Attempt: 2, Sequence: 4}} {
		_, err = p.store.TaskEventsAfter(ctx, w.task, read, 10)
		require.NoError(t, err, "who has read all is at the end")
	}
}

// Late events of a sandbox without events are rejected, as an hour after its end.
func TestRetention_RefusesLateEvents(t *testing.T) {
	t.Parallel()
	p := newPast(t, 100)
	w := p.start()
	p.report(w, 3)
	p.end(w, task.StatusCompleted)
	p.exec(`UPDATE sandboxes SET state = 'lost', verified_at = NULL`)
	late := func() error {
		out, err := p.store.CommitEvents(t.Context(), ingest.Commit{Requests: []ingest.Request{{
			SandboxID: w.box, SpoolID: "s", First: 4, Events: []ingest.Event{{Type: "agent.message", Data: []byte(`{}`)}},
		}}})
		require.NoError(t, err)
		return out[0].Err
	}
	require.NoError(t, late())
	p.now = p.now.Add(90 * day)
	p.pass(60*day, stored()...)
	require.Equal(t, task.CodeGone, task.CodeOf(late()))
	require.Zero(t, count(t, p.pool, `SELECT count(*) FROM sandbox_events`), fmt.Sprint("of ", w.box))
}

// Storage returns sizes and what the next pass removes; afterwards nothing is left to remove.
func TestRetention_Storage(t *testing.T) {
	t.Parallel()
	p, ctx := newPast(t, 100), t.Context()
	w := p.start()
	p.report(w, 7)
	p.end(w, task.StatusFailed)
	p.now = p.now.Add(100 * day)
	rules := retention.Policy{Keep: map[string]time.Duration{retention.Events: 90 * day, retention.BusRows: 90 * day, retention.Patches: 200 * day}}
	found, err := p.store.Storage(ctx, rules)
	require.NoError(t, err)
	expired := map[string]int64{}
	for _, k := range found.Kinds {
		expired[k.Kind] = k.Expired
		require.Equal(t, k.Kind != retention.Branches && k.Kind != retention.Refs, k.Bytes != nil, k.Kind)
		if k.Kind == retention.Events {
			require.EqualValues(t, 7, k.ExpiredRows)
			require.Positive(t, *k.Bytes)
		}
	}
	require.EqualValues(t, 1, expired[retention.Events])
	require.EqualValues(t, 1, expired[retention.BusRows])
	require.Zero(t, expired[retention.Patches], "not old enough")
	require.Zero(t, expired[retention.Transcripts], "kept forever")
	p.pass(90*day, retention.Events, retention.BusRows)
	found, err = p.store.Storage(ctx, rules)
	require.NoError(t, err)
	for _, k := range found.Kinds {
		require.Zero(t, k.Expired, k.Kind)
	}
}

// Branches and refs are listed once per end, and not while a newer task uses the branch.
func TestRetention_ExpiredGit(t *testing.T) {
	t.Parallel()
	p, ctx := newPast(t, 100), t.Context()
	w, other := p.start(), p.start()
	p.exec(`UPDATE tasks SET branch_name = 'feature/x'`)
	p.end(w, task.StatusFailed)
	listed := func(kind string) int {
		found, err := p.store.ExpiredGit(ctx, kind, p.now.Add(-60*day), "", 10)
		require.NoError(t, err)
		sizes, err := p.store.Storage(ctx, retention.Policy{Keep: map[string]time.Duration{kind: 60 * day}, Ahead: time.Until(p.now)})
		require.NoError(t, err)
		for _, k := range sizes.Kinds {
			require.False(t, k.Kind == kind && int(k.Expired) != len(found), "storage counts them, and lists none")
		}
		return len(found)
	}
	p.now = p.now.Add(99 * day)
	require.Zero(t, listed(retention.Branches), "another task is on it")
	p.exec(`UPDATE tasks SET branch_name = 'feature/y' WHERE id = $1`, other.task)
	require.Equal(t, 1, listed(retention.Branches))
	p.exec(`UPDATE tasks SET pull_request_number = 7 WHERE id = $1`, w.task)
	require.Zero(t, listed(retention.Branches), "it has a pull request")
	require.Equal(t, 1, listed(retention.Refs))
	require.NoError(t, p.store.NoteRemoval(ctx, retention.Refs, w.task, p.now))
	require.Zero(t, listed(retention.Refs))
	p.exec(`UPDATE tasks SET completed_at = $2 WHERE id = $1`, w.task, p.now.Add(day))
	p.now = p.now.Add(62 * day)
	require.Equal(t, 1, listed(retention.Refs), "it was retried, and ended again")
}
