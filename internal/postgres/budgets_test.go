package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// spends stores a model's answer to an agent, with the usage of the sandbox so far.
func (w world) spends(sandboxID string, usd float64, tokens int) {
	w.t.Helper()
	w.exec(`UPDATE sandboxes SET started_at = coalesce(started_at, now()) WHERE id = $1`, sandboxID)
	w.event(sandboxID, "agent.assistant_message", fmt.Sprintf(`{"total_cost_usd": %g, "total_usage": {"input_tokens": %d, "output_tokens": 1}}`, usd, tokens-1))
}

// parked returns the number of tasks with a command to suspend for a budget.
func (w world) parked() int {
	w.t.Helper()
	return count(w.t, w.pool, `SELECT count(*) FROM commands WHERE kind = 'budget'`)
}

// enforce runs one pass of a new process.
func (w world) enforce() {
	w.t.Helper()
	_, err := postgres.New(w.pool, postgres.Config{}).EnforceBudgets(w.t.Context())
	require.NoError(w.t, err)
}

// park ends the attempt as the workflow does after the command.
func (w world) park(a asked, live contract.LiveAttempt, ordinal int64) {
	w.t.Helper()
	w.write(a, contract.Projection{
		Ordinal: ordinal, Status: task.StatusPending, Blocked: task.BlockedBudget, Class: task.ClassBudget, ReleaseSlot: true,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "suspended", Class: task.ClassBudget},
	})
	w.exec(`UPDATE commands SET state = 'carried_out' WHERE task_id = $1 AND kind = 'budget'`, a.id)
}

func TestBudget_WarnsSuspendsAndResumes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		budget, raised task.Budget
		soft, hard     float64
		words          string
	}{
		{"money", task.Budget{USD: 10}, task.Budget{USD: 20}, 8, 10.5, "10.50 of 10.00 USD"},
		{"tokens, at a price that nobody knows", task.Budget{Tokens: 1000}, task.Budget{}, 800, 1000, "1000 of 1000 tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, postgres.Config{})
			store := postgres.New(w.pool, postgres.Config{})
			a := w.task(w.project(5), "")
			_, err := store.SetTaskBudget(t.Context(), w.org, a.id, "me", c.budget)
			require.NoError(t, err)
			live := w.running(a)
			say := func(n float64) {
				if c.budget.USD > 0 {
					w.spends(live.SandboxID, n, 1)
				} else {
					w.event(live.SandboxID, "agent.completed", fmt.Sprintf(`{"cost_usd": null, "input_tokens": %g, "output_tokens": 0}`, n))
					w.exec(`UPDATE sandboxes SET started_at = now() WHERE id = $1`, live.SandboxID)
				}
				w.enforce()
				w.enforce()
			}
			say(c.soft - 1)
			require.Zero(t, count(t, w.pool, `SELECT count(*) FROM messages`))
			say(c.soft)
			require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM messages WHERE kind = 'system' AND sender_kind = 'system' AND sandbox_id = $1
				AND content LIKE '%is nearly spent%'`, live.SandboxID), "it is told once")
			require.Zero(t, w.parked())
			say(c.hard)
			require.Equal(t, 1, w.parked(), "it is asked once")
			asked := task.ParseReason(one[string](t, w.pool, `SELECT args ->> 'reason' FROM commands WHERE kind = 'budget'`))
			require.Equal(t, []any{task.ReasonTaskBudget, c.words}, []any{asked.Code, explain.Amount(asked)})
			w.park(a, live, 4)
			require.Equal(t, "budget", w.row(a.id, "blocked_reason"))
			require.False(t, w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true}).HoldsSlot, "a retry alone does not help")
			waits := w.waits(a.id)
			require.Equal(t, []any{task.ReasonTaskBudget, c.words}, []any{waits.Code, explain.Amount(waits)})

			w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusPending, Blocked: task.BlockedBudget, ReleaseSlot: true})
			spent, err := store.SetTaskBudget(t.Context(), w.org, a.id, "me", c.raised)
			require.NoError(t, err)
			require.Equal(t, []string{a.id}, spent.TaskIDs)
			require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM commands WHERE kind = 'retry' AND task_id = $1`, a.id))
			require.True(t, w.write(a, contract.Projection{Ordinal: 7, Status: task.StatusPending, RequestSlot: true}).HoldsSlot)
		})
	}
}

// The test locks the rows that usage tracking would read.
func TestEnforceBudgets_WithoutBudgetReadsNoUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	a := w.task(w.project(5), "")
	w.running(a)
	w.task(w.project(5), `budget = '{"usd": 5}', status = 'completed', queued_at = NULL`)
	held, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = held.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = held.Exec(t.Context(), `LOCK TABLE slots, sandboxes`)
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	told, err := store.EnforceBudgets(ctx)
	require.NoError(t, err)
	require.Empty(t, told)
}

// Two agents are near their budget; the first one has too many open messages.
func TestEnforceBudgets_FullInboxDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	p := w.project(5)
	var boxes []string
	for range 2 {
		live := w.running(w.task(p, `budget = '{"usd": 10}'`))
		w.spends(live.SandboxID, 9, 10)
		boxes = append(boxes, live.SandboxID)
	}
	slices.Sort(boxes)
	w.exec(`INSERT INTO messages (id, sandbox_id, kind, content, sender_kind)
		SELECT gen_random_uuid(), $1, 'user_message', 'x', 'person' FROM generate_series(1, $2)`, boxes[0], ingest.MaxOpenMessages)
	told, err := store.EnforceBudgets(t.Context())
	require.NoError(t, err)
	require.Equal(t, boxes[1:], told)
}

// Tasks of a project share its budget; one task also has a budget of its own.
func TestProjectBudget_IsShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	p := w.project(5)
	_, err := store.SetProjectBudget(t.Context(), w.org, p, "me", task.Budget{USD: 20})
	require.NoError(t, err)
	own, other := w.task(p, `budget = '{"usd": 9}'`), w.task(p, "")
	boxes := []string{w.running(own).SandboxID, w.running(other).SandboxID}
	w.spends(boxes[0], 8, 10)
	w.spends(boxes[1], 9, 10)
	w.enforce()
	require.Zero(t, w.parked())
	require.Equal(t, []string{"project", "project", "task"}, one[[]string](t, w.pool,
		`SELECT array_agg(split_part(idempotency_key, ' ', 2) ORDER BY idempotency_key) FROM messages`), "what is near")
	w.spends(boxes[0], 11, 10)
	w.enforce()
	reason := `SELECT args ->> 'reason' FROM commands WHERE kind = 'budget' AND task_id = $1`
	require.Equal(t, task.Reason{Code: task.ReasonTaskBudget, Used: 11, Limit: 9, Unit: task.UnitUSD}, task.ParseReason(one[string](t, w.pool, reason, own.id)))
	require.Equal(t, task.Reason{Code: task.ReasonProjectBudget, Used: 20, Limit: 20, Unit: task.UnitUSD}, task.ParseReason(one[string](t, w.pool, reason, other.id)))
}

func TestBudget_WallClockWithoutEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	p := w.project(5)
	for _, b := range []task.Budget{{WallClockS: 3600}, {SandboxSeconds: 3600}} {
		a := w.task(p, "")
		_, err := store.SetTaskBudget(t.Context(), w.org, a.id, "me", b)
		require.NoError(t, err)
		live := w.running(a)
		before := w.parked()
		w.enforce()
		require.Equal(t, before, w.parked())
		w.exec(`UPDATE sandboxes SET created_at = now() - interval '1 hour', made_at = now() - interval '1 hour', started_at = now() - interval '1 hour' WHERE id = $1`, live.SandboxID)
		w.exec(`UPDATE tasks SET created_at = now() - interval '1 hour' WHERE id = $1`, a.id)
		w.enforce()
		require.Equal(t, before+1, w.parked())
	}
}

// The wall clock of a project starts at its creation and belongs to no task.
func TestProjectBudget_WallClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	p := w.project(1)
	working, queued := w.task(p, ""), w.task(p, "")
	box := w.running(working).SandboxID
	w.spends(box, 1, 10)
	w.exec(`UPDATE projects SET created_at = now() - interval '9 hours' WHERE id = $1`, p)
	_, err := store.SetProjectBudget(t.Context(), w.org, p, "me", task.Budget{WallClockS: 36000})
	require.NoError(t, err)
	w.enforce()
	require.Regexp(t, `^The budget of this project is nearly spent: \d+ of 36000 seconds of wall-clock time\. `,
		one[string](t, w.pool, `SELECT content FROM messages WHERE sandbox_id = $1`, box))
	_, err = store.SetProjectBudget(t.Context(), w.org, p, "me", task.Budget{WallClockS: 3600})
	require.NoError(t, err)
	shown, err := store.Task(t.Context(), w.org, queued.id)
	require.NoError(t, err)
	require.Equal(t, []any{task.ReasonProjectBudget, 3600.0, task.UnitWallClock}, []any{shown.QueueReason.Code, shown.QueueReason.Limit, shown.QueueReason.Unit})
	require.Equal(t, "omoi budget --project "+p+" --wall-clock <more>", explain.RaiseBudget(shown))
}

// The tasks of a project spend one dollar with each model answer, and each check is a new process. Together they exceed
// the budget by at most one answer per running task.
func TestProjectBudget_ExceededByOneAnswerPerTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	const budget, slots, answer = 20.0, 5, 1.0
	p := w.project(slots)
	_, err := store.SetProjectBudget(t.Context(), w.org, p, "me", task.Budget{USD: budget})
	require.NoError(t, err)
	tasks, lives, spent := map[string]asked{}, map[string]contract.LiveAttempt{}, map[string]float64{}
	for range slots + 3 {
		a := w.task(p, "")
		tasks[a.id] = a
	}
	total := func() float64 {
		out, err := store.ProjectBudget(t.Context(), w.org, p)
		require.NoError(t, err)
		return *out.Used.USD
	}
	atWork := func() []string {
		return one[[]string](t, w.pool, `SELECT coalesce(array_agg(task_id::text ORDER BY task_id), '{}') FROM slots`)
	}
	for round := 0; w.parked() == 0; round++ {
		require.Less(t, round, 10)
		for _, id := range atWork() {
			if _, begun := lives[id]; !begun {
				lives[id] = w.running(tasks[id])
			}
			spent[id] += answer
			w.spends(lives[id].SandboxID, spent[id], 10)
		}
		w.enforce()
	}
	require.Equal(t, slots, w.parked(), "each of them is asked")
	require.LessOrEqual(t, total(), budget+slots*answer)
	for _, id := range atWork() {
		w.park(tasks[id], lives[id], 4)
	}
	require.Empty(t, atWork(), "nobody else begins")
	require.Equal(t, 3, count(t, w.pool, `SELECT count(*) FROM tasks WHERE blocked_reason = 'budget' AND queued_at IS NOT NULL
		AND queue_reason @> '{"code": "project_budget", "unit": "usd", "used": 20, "limit": 20}'`))

	out, err := store.SetProjectBudget(t.Context(), w.org, p, "me", task.Budget{USD: 23})
	require.NoError(t, err)
	require.Len(t, out.TaskIDs, slots)
	require.Len(t, atWork(), 2, "a tenth of the budget is reserved for each that begins")
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM tasks WHERE queued_at IS NOT NULL
		AND queue_reason ->> 'code' = 'budget_reserved'`))
}

func TestSetBudget_CountsEarlierUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	p := w.project(1)
	a, next := w.task(p, ""), w.task(p, "")
	box := w.running(a).SandboxID
	w.spends(box, 3, 10)
	w.enforce()
	ofTask, err := store.TaskBudget(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.InDelta(t, 3, *ofTask.Used.USD, 1e-9)
	w.spends(box, 4, 10)
	ofProject, err := store.ProjectBudget(t.Context(), w.org, p)
	require.NoError(t, err)
	require.InDelta(t, 4, *ofProject.Used.USD, 1e-9)
	w.spends(box, 5, 10)
	_, err = store.SetProjectBudget(t.Context(), w.org, p, "me", task.Budget{USD: 5})
	require.NoError(t, err)
	require.Equal(t, task.Reason{Code: task.ReasonProjectBudget, Used: 5, Limit: 5, Unit: task.UnitUSD}, w.waits(next.id), "the gate knows at once")
}

func TestUsage_AfterAttemptCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.spends(live.SandboxID, 1, 10)
	w.park(a, live, 4)
	w.spends(live.SandboxID, 3, 10)
	require.NoError(t, w.store.RecordSandboxState(t.Context(), contract.RecordSandboxStateInput{SandboxID: live.SandboxID, Event: "gone"}))
	out, err := postgres.New(w.pool, postgres.Config{}).TaskBudget(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.InDelta(t, 3, *out.Used.USD, 0.001)
}

// The deletion of a sandbox on a lost host is never verified.
func TestUsage_LostSandboxStopsCounting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), `budget = '{"sandbox_s": 3600}'`)
	live := w.running(a)
	w.exec(`UPDATE sandboxes SET made_at = now() - interval '3 hours', ended_at = now() - interval '150 minutes', state = 'lost' WHERE id = $1`, live.SandboxID)
	w.enforce()
	require.Zero(t, w.parked())
}

func TestUsage_IgnoresInvalidNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), `budget = '{"usd": 5}'`)
	live := w.running(a)
	w.event(live.SandboxID, "agent.assistant_message", `{"total_cost_usd": "a lot", "total_usage": [1]}`)
	w.event(live.SandboxID, "agent.assistant_message", `{"total_cost_usd": -7, "total_usage": {"input_tokens": {"a": 1}}}`)
	w.event(live.SandboxID, "agent.assistant_message", `{"total_cost_usd": 1.5}`)
	w.event(live.SandboxID, "iteration.completed", `{"total_cost_usd": 1e400, "cost_usd": 3}`)
	w.enforce()
	require.Equal(t, 1, w.parked())
	w.finish(a, live, 4, task.StatusCompleted)
	require.InDelta(t, 1e15, *w.ledger(live.SandboxID).CostUSD, 1)
}

func TestUsage_BillReplacesEstimate(t *testing.T) {
	t.Parallel()
	said := `{"total_cost_usd": 2, "total_usage": {"input_tokens": 200, "output_tokens": 20}}`
	bill := `{"cost_usd": 1.5, "input_tokens": 150, "output_tokens": 15}`
	for name, c := range map[string]struct {
		events              [][2]string
		usd                 float64
		tokensIn, tokensOut int64
	}{
		"nothing but a failure":       {[][2]string{{"agent.error", bill}}, 1.5, 150, 15},
		"nothing but another one":     {[][2]string{{"agent.failed", bill}}, 1.5, 150, 15},
		"a bill that is less":         {[][2]string{{"agent.assistant_message", said}, {"agent.completed", bill}}, 1.5, 150, 15},
		"a failure's bill":            {[][2]string{{"agent.assistant_message", said}, {"agent.error", bill}}, 1.5, 150, 15},
		"a bill without a price":      {[][2]string{{"agent.assistant_message", said}, {"agent.error", `{"cost_usd": null, "input_tokens": 150}`}}, 2, 150, 20},
		"more after a bill":           {[][2]string{{"agent.completed", bill}, {"agent.assistant_message", said}}, 2, 200, 20},
		"an iteration that begins":    {[][2]string{{"iteration.started", said}}, 2, 200, 20},
		"a sum that is less, no bill": {[][2]string{{"agent.assistant_message", said}, {"iteration.completed", `{"total_cost_usd": 1}`}}, 2, 200, 20},
	} {
		for _, looks := range []string{"once", "after each"} {
			t.Run(name+", counted "+looks, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, postgres.Config{})
				a := w.task(w.project(5), `budget = '{"usd": 50}'`)
				live := w.running(a)
				for _, e := range c.events {
					w.event(live.SandboxID, e[0], e[1])
					if looks == "after each" {
						w.enforce()
					}
				}
				w.finish(a, live, 4, task.StatusFailed)
				require.InDelta(t, c.usd, *w.ledger(live.SandboxID).CostUSD, 1e-9)
				in := one[int64](t, w.pool, `SELECT input_tokens FROM sandboxes WHERE id = $1`, live.SandboxID)
				out := one[int64](t, w.pool, `SELECT output_tokens FROM sandboxes WHERE id = $1`, live.SandboxID)
				require.Equal(t, []int64{c.tokensIn, c.tokensOut}, []int64{in, out})
			})
		}
	}
}

func TestUsage_UnknownCostIsNull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT id, 1, partition_month, 'agent.assistant_message', '{"total_cost_usd": null, "cost_unknown": true, "total_usage": {"input_tokens": 7}}'::jsonb
		FROM sandboxes WHERE id = $1`, live.SandboxID)
	w.exec(`UPDATE sandboxes SET last_sequence = 1 WHERE id = $1`, live.SandboxID)
	out, err := w.store.TaskBudget(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Nil(t, out.Used.USD)
	require.True(t, out.Used.CostUnknown)
	require.InDelta(t, 7, out.Used.Tokens, 0, "tokens bind all the same")
	require.Nil(t, w.ledger(live.SandboxID).CostUSD)
	require.True(t, w.ledger(live.SandboxID).CostUnknown)
}

func TestUsage_TokensWithoutCost(t *testing.T) {
	t.Parallel()
	const million = `"model": "no-such-model", "input_tokens": 1000000, "output_tokens": 1000000`
	priced := [2]string{"agent.completed", `{"cost_usd": 0.5, "input_tokens": 10}`}
	for name, c := range map[string]struct {
		events  [][2]string
		usd     *float64
		unknown bool
	}{
		"no cost":                       {[][2]string{{"agent.completed", `{` + million + `}`}}, nil, true},
		"null":                          {[][2]string{{"agent.completed", `{"cost_usd": null, ` + million + `}`}}, nil, true},
		"a word":                        {[][2]string{{"agent.completed", `{"cost_usd": "unknown", ` + million + `}`}}, nil, true},
		"input only":                    {[][2]string{{"agent.error", `{"input_tokens": 7}`}}, nil, true},
		"output only":                   {[][2]string{{"agent.failed", `{"output_tokens": 7}`}}, nil, true},
		"tokens in total_usage":         {[][2]string{{"continuous.completed", `{"total_usage": {"output_tokens": 7}}`}}, nil, true},
		"no cost after a priced end":    {[][2]string{priced, {"agent.completed", `{` + million + `}`}}, new(0.5), true},
		"a price after an unpriced end": {[][2]string{{"agent.completed", `{` + million + `}`}, priced}, new(0.5), true},
		"a price of 0":                  {[][2]string{{"agent.completed", `{"cost_usd": 0, ` + million + `}`}}, new(0.0), false},
		"a price":                       {[][2]string{priced}, new(0.5), false},
		"a price in total_cost_usd":     {[][2]string{{"agent.completed", `{"total_cost_usd": 0.5, "cost_usd": null, ` + million + `}`}}, new(0.5), false},
		"no tokens":                     {[][2]string{{"agent.error", `{"error": "no network", "input_tokens": 0, "output_tokens": null}`}}, new(0.0), false},
		"not at an end":                 {[][2]string{{"agent.assistant_message", `{"total_usage": {"input_tokens": 7}}`}, priced}, new(0.5), false},
		// Continuous mode of legacy workers: the last event has the cost of all iterations and no tokens.
		"end of iterations": {[][2]string{priced, {"iteration.completed", `{"cost_usd": 0.5, "total_cost_usd": 0.5}`}, {"continuous.completed", `{"total_cost_usd": 0.5}`}}, new(0.5), false},
	} {
		for _, looks := range []string{"once", "after each"} {
			t.Run(name+", counted "+looks, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, postgres.Config{})
				a := w.task(w.project(5), `budget = '{"usd": 50}'`)
				live := w.running(a)
				for _, e := range c.events {
					w.event(live.SandboxID, e[0], e[1])
					if looks == "after each" {
						w.enforce()
					}
				}
				w.finish(a, live, 4, task.StatusFailed)
				box := w.ledger(live.SandboxID)
				require.Equal(t, c.unknown, box.CostUnknown)
				require.Equal(t, c.usd, box.CostUSD)
			})
		}
	}
}
