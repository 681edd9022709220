package guardian_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// dying is a store whose process dies after a number of writes.
type dying struct {
	*postgres.Store

	left atomic.Int32
	die  context.CancelFunc
}

var errKilled = errors.New("killed")

func (d *dying) SaveAnalysis(ctx context.Context, j guardian.Analysis, iv guardian.Intervention, plan func([]guardian.PastIntervention) (guardian.PlannedIntervention, bool)) (guardian.Intervention, bool, error) {
	if d.left.Add(-1) < 0 {
		d.die()
		return guardian.Intervention{}, false, errKilled
	}
	return d.Store.SaveAnalysis(ctx, j, iv, plan)
}

// CarryOut dies after the intervention was carried out, before it returns.
func (d *dying) CarryOut(ctx context.Context, iv guardian.Intervention) (guardian.Intervention, error) {
	if d.left.Add(-1) < 0 {
		d.die()
		return iv, errKilled
	}
	return d.Store.CarryOut(ctx, iv)
}

func TestACycleThatIsKilledAnywhereJudgesAndSpeaksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boxes := w.atWork(30) // more than a page
	w.loops(boxes...)
	w.steers()
	for n := range 5 { // each try dies a little later, during the analysis or the intervention
		ctx, die := context.WithCancel(t.Context())
		d := &dying{Store: w.store, die: die}
		d.left.Store(int32(5 * n))
		_, err := try(ctx, guardian.New(always(), guardian.Deps{Store: d}), named(1))
		require.Error(t, err, n)
		die()
	}
	judged := w.cycle(w.guardian(always()), named(1))
	require.Equal(t, 30, judged.Analyzed)
	require.Zero(t, judged.Failed)
	require.Equal(t, 30, w.count(`SELECT count(*) FROM guardian_analyses`), "one for each sandbox and cycle")
	require.Equal(t, 30, w.count(`SELECT count(*) FROM interventions WHERE state = 'sent' AND level = 'nudge'`))
	require.Equal(t, 30, w.count(`SELECT count(*) FROM messages WHERE kind = 'guardian_nudge' AND sender_kind = 'guardian'`))
	require.Equal(t, 30, w.count(`SELECT count(DISTINCT sandbox_id) FROM messages`), "nobody was told twice")
}

func TestTwoWorkersAtTheSameStretchSpeakOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.loops(w.atWork(5)...)
	w.steers()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			_, err := try(t.Context(), w.guardian(always()), named(1))
			require.NoError(t, err)
		})
	}
	group.Wait()
	require.Equal(t, 5, w.count(`SELECT count(*) FROM guardian_analyses`))
	require.Equal(t, 5, w.count(`SELECT count(*) FROM messages`))
}

func TestContractOfTheProject_BindsItsTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.exec(`UPDATE projects SET settings = '{"allowed_paths": ["src"]}'`)
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT id, 1, partition_month, 'agent.file_edited', '{"file_path": "main.go", "change_type": "modified", "full_diff": "@@ -1 +1 @@\n-a\n+b\n"}' FROM sandboxes WHERE id = $1`, box)
	w.exec(`UPDATE sandboxes SET last_sequence = 1 WHERE id = $1`, box)
	w.cycle(w.guardian(always()), named(1))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM guardian_analyses WHERE analysis -> 'findings' -> 0 ->> 'rule' = 'outside_paths'`))
}

func TestInShadowNobodyIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boxes := w.atWork(2)
	w.loops(boxes...)
	w.cycle(w.guardian(always()), named(1))
	require.Zero(t, w.count(`SELECT count(*) FROM messages`)+w.count(`SELECT count(*) FROM commands WHERE kind = 'replace'`))
	require.Equal(t, []string{"nudge recorded"}, w.levels(boxes[0]), "what would have been said is written down")

	w.steers() // a recorded intervention was not sent, and does not count
	w.cycle(w.guardian(always()), named(2))
	require.Equal(t, []string{"nudge recorded", "nudge sent"}, w.levels(boxes[0]))
	w.exec(`UPDATE projects SET auto_steering = false`)
	yes := always()
	yes.AutoSteering = true
	w.pass(time.Hour)
	w.cycle(w.guardian(yes), named(3))
	require.Equal(t, 2, w.count(`SELECT count(*) FROM messages`), "the project's word goes before the installation's")
}

func TestAJudgementStandsForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boxes := w.atWork(2)
	g := w.guardian(guardian.Config{})
	require.Equal(t, 2, w.cycle(g, named(1)).Analyzed)
	second := w.cycle(g, named(2))
	require.Equal(t, 2, second.Fresh)
	require.Zero(t, second.Analyzed)
	_, err := g.JudgeNow(t.Context(), boxes[0], false)
	require.NoError(t, err)
	require.Equal(t, 2, w.count(`SELECT count(*) FROM guardian_analyses`))
	j, err := g.JudgeNow(t.Context(), boxes[0], true)
	require.NoError(t, err)
	require.Equal(t, boxes[0], j.SandboxID)
	require.Equal(t, 3, w.count(`SELECT count(*) FROM guardian_analyses`), "who insists gets a new one")
	w.pass(6 * time.Minute)
	w.exec(`UPDATE tasks SET status = 'completed' WHERE sandbox_id = $1`, boxes[0])
	require.Equal(t, 1, w.cycle(g, named(3)).Analyzed, "only who is at work")
	_, err = g.JudgeNow(t.Context(), boxes[0], true)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

// A validator is active too, and reviews without changing files.
func TestAValidatorIsJudgedAsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.exec(`UPDATE tasks SET status = 'validating' WHERE sandbox_id = $1`, box)
	w.exec(`UPDATE attempts SET kind = 'validation' WHERE sandbox_id = $1`, box)
	require.Equal(t, 1, w.cycle(w.guardian(always()), named(1)).Analyzed)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM guardian_analyses WHERE subject ->> 'mode' = 'validation'`))
}

func TestNothingKnownIsUnknownNotHealthy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.atWork(1)
	w.cycle(w.guardian(always()), named(1))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM guardian_analyses WHERE verdict = 'unknown' AND spoken_by = 'none' AND alignment_score IS NULL`))
}

func TestStepsHaveTheirTimeAndGoUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.loops(box)
	w.steers()
	g := w.guardian(always())
	for n := range 5 { // within the cool-down
		w.cycle(g, named(n))
		w.pass(time.Minute)
	}
	require.Equal(t, []string{"nudge sent"}, w.levels(box), "one in the time that it has to show")
	require.Equal(t, 4, w.count(`SELECT count(*) FROM interventions WHERE level = 'observe' AND state = 'recorded'`), "and the rest is written down")

	w.exec(`UPDATE messages SET state = 'taken_up'`)
	w.pass(10 * time.Minute)
	w.cycle(g, named(11))
	w.pass(11 * time.Minute)
	w.cycle(g, named(12))
	require.Equal(t, []string{"nudge sent", "interrupt sent", "replace sent"}, w.levels(box))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM messages WHERE kind = 'interrupt' AND content LIKE '[GUARDIAN INTERVENTION - guidance] %'`))
	w.pass(11 * time.Minute)
	w.cycle(g, named(13))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM commands WHERE kind = 'replace'`), "the command is under way: none is given twice")
}

// An agent that an interrupt would end is replaced, which costs no retry.
func TestOnlyWhoOutlivesAnInterruptIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ agent, execution, kind, want string }{
		"scripted":                  {"scripted", "{}", "initial", "replace sent"},
		"a program that is deaf":    {"command", "{}", "initial", "replace sent"},
		"a program that reads":      {"command", `{"reads_messages": true}`, "initial", "interrupt sent"},
		"one that validates":        {"command", `{"reads_messages": true}`, "validation", "replace sent"},
		"claude":                    {"claude", "{}", "initial", "interrupt sent"},
		"claude's work is judged":   {"claude", `{"validator": {"agent": "scripted"}}`, "validation", "replace sent"},
		"claude judges others work": {"scripted", `{"validator": {"agent": "claude"}}`, "validation", "interrupt sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			box := w.atWork(1)[0]
			w.exec(`UPDATE tasks SET agent = $1, execution_config = $2::jsonb`, c.agent, c.execution)
			w.exec(`UPDATE attempts SET kind = $1`, c.kind)
			w.loops(box)
			w.steers()
			g := w.guardian(always())
			w.cycle(g, named(1))
			w.pass(11 * time.Minute)
			w.cycle(g, named(2))
			require.Equal(t, []string{"nudge sent", c.want}, w.levels(box))
		})
	}
}

func TestAReplacementTellsTheNextAttemptWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.loops(box)
	w.steers()
	g := w.guardian(always())
	for n := range 3 {
		w.cycle(g, named(n))
		w.pass(11 * time.Minute)
	}
	var id, taskID string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT id::text, task_id::text FROM commands WHERE kind = 'replace' AND sender = 'guardian'`).Scan(&id, &taskID))
	for range 2 { // the command is taken twice
		taken, err := w.store.LoadCommand(t.Context(), contract.LoadCommandInput{TaskID: taskID, Command: contract.Command{ID: id, Kind: contract.CommandReplace}}, "r")
		require.NoError(t, err)
		require.False(t, taken.Settled)
		require.Equal(t, box, taken.SandboxID)
		text, err := w.store.Text(t.Context(), taken.FeedbackID)
		require.NoError(t, err)
		require.Contains(t, text, "[GUARDIAN INTERVENTION - guidance]")
	}
}

// After a pause of the schedule or of its worker, old planned interventions are not sent.
func TestNoStormOfOldSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boxes := w.atWork(20)
	w.loops(boxes...)
	w.steers()
	ctx, die := context.WithCancel(t.Context())
	d := &dying{Store: w.store, die: die}
	d.left.Store(20) // it analyzes all sandboxes and sends nothing
	_, err := try(ctx, guardian.New(always(), guardian.Deps{Store: d}), named(1))
	require.ErrorIs(t, err, errKilled)
	require.Equal(t, 20, w.count(`SELECT count(*) FROM interventions WHERE state = 'planned'`))
	w.pass(time.Hour)
	w.exec(`DELETE FROM sandbox_events`) // the agents have continued meanwhile
	judged := w.cycle(w.guardian(always()), named(2))
	require.Zero(t, judged.Interventions)
	require.Zero(t, w.count(`SELECT count(*) FROM messages`))
	require.Equal(t, 20, w.count(`SELECT count(*) FROM interventions WHERE state = 'expired'`))
}

func TestWhereNobodyListensTheStepIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.loops(box)
	w.steers()
	w.exec(`INSERT INTO agent_shutdowns (sandbox_id, left_at) VALUES ($1, now())`, box)
	w.cycle(w.guardian(always()), named(1))
	require.Equal(t, []string{"nudge refused"}, w.levels(box))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM interventions WHERE reason LIKE '%reads no more messages%'`))
}

// A stored analysis can be repeated: the same events, rules and subject give the same verdict.
func TestAJudgementCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.loops(box)
	j, err := w.guardian(always()).JudgeNow(t.Context(), box, true)
	require.NoError(t, err)
	w.exec(`UPDATE sandboxes SET last_sequence = 200 WHERE id = $1`, box)
	stored, err := w.store.NewestJudgements(t.Context(), []string{box}, time.Hour)
	require.NoError(t, err)
	require.Len(t, stored, 1)
	require.Equal(t, j.ID, stored[0].ID)
	require.True(t, stored[0].NeedsSteering)

	second, err := again(t.Context(), w.store, stored[0], nil)
	require.NoError(t, err)
	var first supervise.Analysis
	require.NoError(t, json.Unmarshal(stored[0].Analysis, &first))
	require.Equal(t, first, second)
	require.NotEmpty(t, second.Evidence)
}

// What an agent claims to have been told lifts no limit: a user changes the contract.
func TestOnlyTheContractLiftsALimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.exec(`UPDATE tasks SET execution_config = '{"allowed_paths": ["src"]}' WHERE sandbox_id = $1`, box)
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data, created_at)
		SELECT s.id, 1, s.partition_month, 'agent.message_injected',
			'{"content": "You may change cmd/ for that.", "message_type": "user_message", "sender_kind": "user"}'::jsonb, now() FROM sandboxes s WHERE s.id = $1
		UNION ALL SELECT s.id, 2, s.partition_month, 'agent.file_edited',
			'{"file_path": "cmd/main.go", "change_type": "modified", "lines_added": 1}'::jsonb, now() FROM sandboxes s WHERE s.id = $1`, box)
	w.exec(`UPDATE sandboxes SET last_sequence = 2 WHERE id = $1`, box)
	g := w.guardian(always())
	j, err := g.JudgeNow(t.Context(), box, true)
	require.NoError(t, err)
	require.True(t, j.NeedsSteering)
	_, err = w.store.SetTaskContract(t.Context(), taskcontract.Change{
		OrganizationID: w.org, TaskID: j.TaskID, Sender: "ann", Contract: taskcontract.Contract{AllowedPaths: []string{"src", "cmd"}},
	})
	require.NoError(t, err)
	j, err = g.JudgeNow(t.Context(), box, true)
	require.NoError(t, err)
	require.False(t, j.NeedsSteering)
}

// A program can report that a user allowed a call. Only a stored message allows it.
func TestOnlyAMessageAllowsACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.exec(`UPDATE tasks SET execution_config = '{"forbidden_commands": ["git push --force"]}' WHERE sandbox_id = $1`, box)
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data, created_at)
		SELECT s.id, 1, s.partition_month, 'agent.tool_use',
			'{"tool": "Bash", "tool_use_id": "c", "input": {"command": "git push --force"}}'::jsonb, now() FROM sandboxes s WHERE s.id = $1
		UNION ALL SELECT s.id, 2, s.partition_month, 'agent.tool_allowed', '{"tool_use_id": "c", "refusal": "r"}'::jsonb, now() FROM sandboxes s WHERE s.id = $1`, box)
	w.exec(`UPDATE sandboxes SET last_sequence = 2 WHERE id = $1`, box)
	steered := func() bool {
		j, err := w.guardian(always()).JudgeNow(t.Context(), box, true)
		require.NoError(t, err)
		return j.NeedsSteering
	}
	require.True(t, steered())
	say := func(once ingest.MessageKey) {
		_, err := w.store.AcceptMessage(t.Context(), ingest.NewMessage{
			SandboxID: box, Kind: ingest.MessageUser, Content: "Once.", SenderKind: ingest.SenderPerson, Once: once,
		})
		require.NoError(t, err)
		w.exec(`UPDATE messages SET state = 'taken_up'`)
	}
	say(ingest.MessageKey{Scope: box, Key: "r"})
	require.True(t, steered(), "a key of another kind")
	say(ingest.MessageKey{Scope: ingest.AllowScope + box, Key: "r"})
	require.False(t, steered())
}

// An interrupted agent waits for a message with the next step, which only the guardian can send.
func TestAnInterruptSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.exec(`UPDATE tasks SET agent = 'claude'`)
	w.loops(box)
	w.steers()
	g := w.guardian(always())
	w.cycle(g, named(1))
	w.exec(`UPDATE messages SET state = 'taken_up'`)
	w.pass(11 * time.Minute)
	w.cycle(g, named(2))
	require.Equal(t, []string{"nudge sent", "interrupt sent"}, w.levels(box))
	const open = `SELECT count(*) FROM messages WHERE state = 'accepted' AND content LIKE '[GUARDIAN %' AND kind = `
	require.Equal(t, 1, w.count(open+`'interrupt'`))
	require.Equal(t, 1, w.count(open+`'guardian_nudge'`))

	var id string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT id::text FROM interventions WHERE level = 'interrupt'`).Scan(&id))
	_, err := w.store.Withdraw(t.Context(), w.org, id, "me")
	require.NoError(t, err)
	require.Zero(t, w.count(open+`'interrupt'`))
	require.Zero(t, w.count(open+`'guardian_nudge'`), "what follows a stop that is taken back is not said either")
}

// An intervention that is withdrawn just before a cycle carries it out is not sent.
func TestWhatIsWithdrawnIsNotSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.loops(box)
	w.steers()
	ctx, die := context.WithCancel(t.Context())
	d := &dying{Store: w.store, die: die}
	d.left.Store(1) // it analyzes and sends nothing
	_, err := try(ctx, guardian.New(always(), guardian.Deps{Store: d}), named(1))
	require.ErrorIs(t, err, errKilled)
	planned, err := w.store.Planned(t.Context(), "", box)
	require.NoError(t, err)
	require.Len(t, planned, 1)
	_, err = w.store.Withdraw(t.Context(), w.org, planned[0].ID, "me")
	require.NoError(t, err)
	done, err := w.store.CarryOut(t.Context(), planned[0])
	require.NoError(t, err)
	require.Equal(t, guardian.InterventionWithdrawn, done.State)
	require.Zero(t, w.count(`SELECT count(*) FROM messages`))
}

func TestScriptThatWaitsForAMessage_IsNotIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.exec(`UPDATE tasks SET execution_config = $2 WHERE sandbox_id = $1`, box, `{"script": {"steps": [{"say": "a"}, {"wait_message": {"timeout_s": 600}}]}}`)
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data, created_at)
		SELECT id, 1, partition_month, 'agent.waiting', '{"turn": 1}'::jsonb, now() - interval '7 minutes' FROM sandboxes WHERE id = $1
		UNION ALL SELECT id, 2, partition_month, 'agent.heartbeat', '{"status": "waiting"}'::jsonb, now() FROM sandboxes WHERE id = $1`, box)
	w.exec(`UPDATE sandboxes SET last_sequence = 2, last_event_at = now() WHERE id = $1`, box)
	w.cycle(w.guardian(always()), named(1))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM guardian_analyses WHERE verdict = 'unknown'`))
	w.exec(`UPDATE tasks SET execution_config = '{"script": {"steps": [{"say": "a"}]}}' WHERE sandbox_id = $1`, box)
	w.cycle(w.guardian(always()), named(2))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM guardian_analyses WHERE verdict = 'steer'`), "one that has no reason to wait")
}
