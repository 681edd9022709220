package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// report stores events of the given types as one numbered batch; each event holds its number.
func (w *world) report(sandbox string, first int, types ...string) {
	w.t.Helper()
	b := client.CreateEventBatchRequest{SpoolID: "s", First: int64(first)}
	for n, eventType := range types {
		b.Events = append(b.Events, client.CreateEventRequest{
			Type: eventType, Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, first+n)),
		})
	}
	ok[client.EventBatchResult](w.call(http.MethodPost, wire+sandbox+"/events/batch", b), http.StatusOK)
}

func (w *world) trajectory(sandbox, query string) client.Trajectory {
	w.t.Helper()
	return ok[client.Trajectory](w.call(http.MethodGet, wire+sandbox+"/trajectory"+query, nil), http.StatusOK)
}

func idsOf(page client.Trajectory) []string {
	var ids []string
	for _, e := range page.Events {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestTrajectory_KeepsLegacyForm(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.report("b", 1, "agent.started", "heartbeat", "agent.tool_use", "agent.heartbeat", "spec.heartbeat")
	got := ok[map[string]any](w.call(http.MethodGet, wire+"b/trajectory", nil), http.StatusOK)
	require.Len(t, got, 8)
	require.EqualValues(t, 5, got["total_events"])
	require.EqualValues(t, 2, got["trajectory_events"])
	require.Equal(t, false, got["has_more"])
	require.Nil(t, got["next_cursor"])
	require.Equal(t, "b:3", got["prev_cursor"])
	beats := got["heartbeat_summary"].(map[string]any)
	require.EqualValues(t, 3, beats["count"], "of the whole sandbox, spec.heartbeat too")
	require.NotNil(t, beats["first_heartbeat"])
	require.NotNil(t, beats["last_heartbeat"])
	page := w.trajectory("b", "?limit=1")
	require.Equal(t, []string{"b:3"}, idsOf(page), "newest first")
	require.EqualValues(t, 3, page.Heartbeats.Count, "whatever the page")
	require.Equal(t, []string{"b:3", "b:1"}, idsOf(w.trajectory("b", "?cursor=nonsense")), "an unknown cursor is none")
	w.call(http.MethodGet, wire+"b/trajectory?limit=1001", nil).refused(422, "query.limit")
	empty := w.trajectory("unseen", "")
	require.Empty(t, empty.Events)
	require.Zero(t, empty.TotalEvents)
}

func TestTrajectory_PagesHaveEachEventOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	var types, want []string
	for n := 1; n <= 60; n++ {
		if n%3 == 0 || (n > 20 && n < 40) {
			types = append(types, "heartbeat")
			continue
		}
		types, want = append(types, "agent.tool_use"), append(want, fmt.Sprintf("b:%d", n))
	}
	w.report("b", 1, types...) // one transaction: all have the same time
	for limit := 1; limit <= 7; limit++ {
		var older []string
		query := fmt.Sprintf("?limit=%d", limit)
		for page := w.trajectory("b", query); ; page = w.trajectory("b", query+"&cursor="+*page.NextCursor) {
			older = append(older, idsOf(page)...)
			if !page.HasMore {
				break
			}
		}
		var newer []string
		query += "&direction=newer"
		for page := w.trajectory("b", query); ; page = w.trajectory("b", query+"&cursor="+*page.PrevCursor) {
			newer = append(newer, reversed(idsOf(page))...)
			if !page.HasMore {
				break
			}
		}
		require.Equal(t, want, reversed(older), "limit %d", limit)
		require.Equal(t, want, newer, "limit %d", limit)
	}
}

func reversed(in []string) []string {
	out := slices.Clone(in)
	slices.Reverse(out)
	return out
}

func TestTrajectory_EmptyFilteredPageHasACursor(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.report("b", 1, "heartbeat", "heartbeat")
	page := w.trajectory("b", "")
	require.Empty(t, page.Events)
	require.NotNil(t, page.PrevCursor)
	w.report("b", 3, "heartbeat", "agent.tool_use")
	page = w.trajectory("b", "?direction=newer&cursor="+*page.PrevCursor)
	require.Equal(t, []string{"b:4"}, idsOf(page))
	behind := w.trajectory("b", "?direction=newer&cursor="+*page.PrevCursor)
	require.Empty(t, behind.Events)
	require.Equal(t, "b:4", *behind.PrevCursor)
	before := w.trajectory("b", "?cursor=b:4")
	require.Empty(t, before.Events)
	require.Equal(t, []string{"b:4"},
		idsOf(w.trajectory("b", "?direction=newer&cursor="+*before.PrevCursor)), "back again")
}

func TestGetEvent_IncludesLargeFields(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.report("b", 1, "agent.tool_use", "agent.tool_result")
	e := ok[client.Event](w.call(http.MethodGet, wire+"b/events/b:2", nil), http.StatusOK)
	require.Equal(t, "agent.tool_result", e.Type)
	require.JSONEq(t, `{"n":2}`, string(e.Data))
	for _, id := range []string{"b:3", "c:1", "b:", "b:-1", "nonsense"} {
		w.call(http.MethodGet, wire+"b/events/"+id, nil).refused(http.StatusNotFound, "")
	}
}

func TestIntegrity_ReportsStoredSequences(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.call(http.MethodGet, wire+"b/integrity", nil).refused(http.StatusNotFound, "")
	w.report("b", 1, "x", "x", "x")
	w.report("b", 2, "x", "x", "x")
	ok[client.EventBatchResult](w.call(http.MethodPost, wire+"b/events/batch",
		`{"spool_id":"t","first":1,"events":[{"event_type":"x"}]}`), http.StatusOK)
	got := w.call(http.MethodGet, wire+"b/integrity", nil)
	require.JSONEq(t, `{"sandbox_id":"b","last_sequence":5,"stored":5,"gapless":true,"gaps":[],"duplicates_rejected":2,"relayed":0,
		"spools":[{"spool_id":"s","acknowledged":4},{"spool_id":"t","acknowledged":1}]}`, string(got.body))
	w.exec(`DELETE FROM sandbox_events WHERE sequence IN (2, 3, 5)`)
	broken := ok[client.Integrity](w.call(http.MethodGet, wire+"b/integrity", nil), http.StatusOK)
	require.False(t, broken.Gapless)
	require.Equal(t, []any{2, 3, 5, 5},
		[]any{int(broken.Gaps[0].First), int(broken.Gaps[0].Last), int(broken.Gaps[1].First), int(broken.Gaps[1].Last)})
}

func TestPhaseStatus(t *testing.T) {
	t.Parallel()
	w := open(t)
	plain := ok[client.PhaseReport](w.call(http.MethodGet, wire+"b/phase-status", nil), http.StatusOK)
	require.False(t, plain.Phases.IsSpec)
	require.Empty(t, plain.Phases.Completed)
	post := func(eventType, phase string) {
		ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"spec-1/events",
			map[string]any{"event_type": eventType, "event_data": map[string]any{"phase": phase}}), http.StatusOK)
	}
	post("spec.phase_started", "explore")
	post("spec.phase_completed", "explore")
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"spec-1/events",
		`{"event_type":"heartbeat","event_data":{"status":"alive"}}`), http.StatusOK)
	got := ok[client.PhaseReport](w.call(http.MethodGet, wire+"spec-1/phase-status", nil), http.StatusOK)
	require.True(t, got.Phases.IsSpec)
	require.Equal(t, []string{"explore"}, got.Phases.Completed)
	require.Equal(t, "prd", *got.Phases.NextExpected)
	require.False(t, got.Phases.Stuck)
	require.True(t, got.Activity.IsAlive)
	require.Equal(t, "alive", *got.Activity.HeartbeatStatus)
	require.NotNil(t, got.Activity.LastWorkAt)
	w.exec(`UPDATE spec_progress SET last_completed_at = last_completed_at - interval '6 minutes'`)
	require.True(t,
		ok[client.PhaseReport](w.call(http.MethodGet, wire+"spec-1/phase-status", nil), http.StatusOK).Phases.Stuck)
	post("spec.execution_completed", "")
	got = ok[client.PhaseReport](w.call(http.MethodGet, wire+"spec-1/phase-status", nil), http.StatusOK)
	require.False(t, got.Phases.Stuck)
	require.True(t, got.Phases.HasCompleted)
}

func TestClearTracked_ClearsNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := ok[client.ClearResult](w.call(http.MethodPost, wire+"admin/clear-tracked-sandboxes", nil), http.StatusOK)
	require.Zero(t, got.Count)
	require.NotEmpty(t, got.Message)
}

func TestReaders_OtherOrganizationsAreNotFound(t *testing.T) {
	t.Parallel()
	w := closed(t)
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	key := w.key(other, "admin")
	w.exec(`INSERT INTO sandboxes (id, organization_id, provider, machine, state)
		VALUES ('box', $1, 'external', false, 'running')`, w.org)
	for _, path := range []string{"trajectory", "events/box:1", "integrity", "transcripts/run", "phase-status", "outline", "event-search?q=x", "event-range?from=1&to=2", "events/1/part?part=/x"} {
		w.call(http.MethodGet, wire+"box/"+path, nil, authorization, key).refused(http.StatusNotFound, "")
		w.call(http.MethodGet, wire+"box/"+path, nil).refused(http.StatusUnauthorized, "")
	}
	ok[client.Trajectory](w.call(http.MethodGet, wire+"box/trajectory", nil, authorization, w.key(w.org, "read")),
		http.StatusOK)
}

func TestEvents_PagedByCursorWithoutLargeFields(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.report("b", 1, "x", "y", "x", "y", "x")
	list := func(query string) client.SandboxEvents {
		return ok[client.SandboxEvents](w.call(http.MethodGet, wire+"b/events"+query, nil), http.StatusOK)
	}
	first := list("?event_type=x&limit=2")
	require.Equal(t, []string{"b:5", "b:3"}, []string{first.Events[0].ID, first.Events[1].ID})
	require.EqualValues(t, 3, first.TotalCount)
	w.report("b", 6, "x") // shifts pages by offset, but none by cursor
	rest := list("?event_type=x&limit=2&cursor=" + *first.NextCursor)
	require.Len(t, rest.Events, 1)
	require.Equal(t, "b:1", rest.Events[0].ID)
	require.Nil(t, rest.NextCursor)
	require.Len(t, list("?offset=5").Events, 1)
	require.Len(t, list("?cursor=nonsense").Events, 6)
	require.Empty(t, list("?event_type=unheard").Events)

	long := strings.Repeat("x", 20_000)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events",
		map[string]any{"event_type": "x", "event_data": map[string]any{"a": 1, "long": long}}), http.StatusOK)
	require.Equal(t, []string{"long"}, list("?limit=1").Events[0].Omitted)
	require.Equal(t, []string{"long"}, w.trajectory("b", "?limit=1").Events[0].Omitted)
	whole := ok[client.Event](w.call(http.MethodGet, wire+"b/events/b:7", nil), http.StatusOK)
	require.Contains(t, string(whole.Data), long)
	require.Empty(t, whole.Omitted)
}
