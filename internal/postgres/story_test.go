package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	story, err := w.store.Story(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Empty(t, story.Output)

	live := w.running(a)
	w.exec(`UPDATE sandboxes SET transport = 'push' WHERE id = $1`, live.SandboxID)
	w.post(ingest.Request{
		SandboxID: live.SandboxID, SpoolID: "own", First: 1,
		Events: []ingest.Event{
			said("agent.completed", `{"success":true,"final_output":"first","tests_passed":false}`),
			said("agent.completed", `{"success":true,"final_output":"It is done.","tests_passed":true}`),
			said("continuous.completed", `{"tests_run":true,"tests_passed":true,"changed_nothing":true}`),
		},
	})
	for range 2 {
		w.exec(`INSERT INTO messages (id, sandbox_id, kind, content) VALUES ($1, $2, 'user_message', 'hear')`, task.NewID(), live.SandboxID)
	}
	story, err = w.store.Story(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Equal(t, a.id, story.Task.ID)
	require.Equal(t, "It is done.", story.Output)
	require.Equal(t, []bool{true, true, true}, []bool{*story.TestsPassed, story.TestsSaid, story.ChangedNothing})
	w.exec(`UPDATE attempts SET head_commit = 'beef'`)
	pushed, err := w.store.Story(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.False(t, pushed.ChangedNothing, "omoi has pushed commits")
	require.Equal(t, []receipt.Spoken{{By: "person", Kind: "user_message", Count: 2}}, story.Spoken)
	require.Len(t, story.Receipt.Sandboxes, 1)
	_, err = w.store.Story(t.Context(), task.NewID(), a.id)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

func said(eventType, data string) ingest.Event {
	return ingest.Event{Type: eventType, Source: ingest.SourceAgent, Data: json.RawMessage(data)}
}

// post stores requests as ingest does.
func (w world) post(requests ...ingest.Request) {
	w.t.Helper()
	outcomes, err := w.store.CommitEvents(w.t.Context(), ingest.Commit{Requests: requests})
	require.NoError(w.t, err)
	for _, out := range outcomes {
		require.NoError(w.t, out.Err)
	}
}

// Only omoi's own agent program can report that omoi ran the tests. With events of other senders the result is a claim.
func TestStory_ForgedTests(t *testing.T) {
	t.Parallel()
	claim := said("continuous.completed", `{"validation_passed":true,"tests_run":true,"tests_passed":true,"changed_nothing":true}`)
	started := said("agent.started", `{}`)
	for name, posts := range map[string][]ingest.Request{
		"a post":                    {{SpoolID: "own", First: 1, Events: []ingest.Event{started}}, {Events: []ingest.Event{claim}}},
		"a post with a key":         {{SpoolID: "own", First: 1, Events: []ingest.Event{started}}, {Key: "k", Events: []ingest.Event{claim}}},
		"a spool of its own":        {{SpoolID: "own", First: 1, Events: []ingest.Event{started}}, {SpoolID: "x", First: 1, Events: []ingest.Event{claim}}},
		"a spool of its own, first": {{SpoolID: "x", First: 1, Events: []ingest.Event{claim}}, {SpoolID: "own", First: 1, Events: []ingest.Event{started}}},
		"a post alone":              {{Events: []ingest.Event{claim}}},
	} {
		w := newWorld(t, postgres.Config{})
		a := w.task(w.project(1), "")
		live := w.running(a)
		w.exec(`UPDATE sandboxes SET transport = 'push' WHERE id = $1`, live.SandboxID)
		for _, r := range posts {
			r.SandboxID = live.SandboxID
			w.post(r)
		}
		story, err := w.store.Story(t.Context(), w.org, a.id)
		require.NoError(t, err)
		require.Nil(t, story.TestsPassed, name)
		require.True(t, story.TestsSaid, name)
		require.False(t, story.ChangedNothing, name)
	}
}

// A sandbox that omoi did not create does not run omoi's program, whatever its sequences.
func TestStory_ExternalSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	w.post(ingest.Request{SandboxID: live.SandboxID, SpoolID: "x", First: 1, Events: []ingest.Event{said("continuous.completed", `{"tests_run":true,"tests_passed":true}`)}})
	story, err := w.store.Story(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Nil(t, story.TestsPassed)
	require.True(t, story.TestsSaid)
}

func TestStory_UsageOfRunningAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(1), "")
	live := w.running(a)
	w.event(live.SandboxID, "agent.completed", `{"success": true, "cost_usd": 1.5, "input_tokens": 150, "output_tokens": 15}`)
	story, err := w.store.Story(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.InDelta(t, 1.5, *story.Receipt.CostUSD, 1e-9)
	at := story.Task.Attempts[0]
	require.Equal(t, []int64{150, 15}, []int64{at.InputTokens, at.OutputTokens})
	require.InDelta(t, 1.5, *at.CostUSD, 1e-9)
}

// A follow-up task's data contains the earlier tasks in order.
func TestStory_EarlierTasks(t *testing.T) {
	t.Parallel()
	p := newWorld(t, postgres.Config{}).pull(feedback.ModeRevise)
	box := p.works()
	p.event(box, "agent.completed", `{"success":true,"final_output":"computed","cost_usd":2}`)
	p.at(task.StatusCompleted)
	var started []string
	for range 2 {
		p.note(p.review())
		started = append(started, p.settle().Started...)
		p.at(task.StatusCompleted)
	}
	require.Len(t, started, 2)
	for n, id := range []string{p.root.id, started[0], started[1]} {
		story, err := p.store.Story(t.Context(), p.org, id)
		require.NoError(t, err)
		require.Len(t, story.All(), n+1)
		require.Equal(t, p.root.id, story.All()[0].Task.ID)
		require.Equal(t, id, story.All()[n].Task.ID)
		require.Equal(t, "computed", story.All()[0].Output)
		require.InDelta(t, 2, *story.Sum().Receipt.CostUSD, 1e-9)
	}
}
