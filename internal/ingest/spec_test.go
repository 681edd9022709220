package ingest_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/spec"
)

func (b *bench) phases(box string) spec.PhaseStatus {
	b.t.Helper()
	got, _, err := b.store.PhaseStatus(b.t.Context(), box)
	require.NoError(b.t, err)
	return got
}

func TestASpecsEventsMoveItsProgress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.intake(ingest.IntakeConfig{}, nil)
	const box = "spec-12345678-expl-abcdef"
	require.Nil(t, b.phases(box).Spec)
	say := func(eventType, raw string) spec.State {
		t.Helper()
		b.report(i, box, eventType, json.RawMessage(raw))
		return *b.phases(box).Spec
	}
	require.Equal(t, spec.State{SpecID: "sp", Status: "executing", CurrentPhase: "explore"}, say("spec.phase_started", `{"spec_id":"sp","phase":"explore"}`))
	require.Equal(t, 16, say("spec.phase_completed", `{"spec_id":"sp","phase":"explore","phase_output":{"a":1}}`).Progress)
	require.Equal(t, 16, say("spec.phase_started", `{"spec_id":"sp","phase":"prd"}`).Progress)
	long := `{"spec_id":"sp","phase":"prd","phase_output":{"text":"` + strings.Repeat("x", 300<<10) + `"}}`
	require.Equal(t, spec.State{SpecID: "sp", Status: "executing", CurrentPhase: "prd", Progress: 32}, say("spec.phase_completed", long))
	require.JSONEq(t, fmt.Sprintf(`{"explore":{"a":1},"prd":{"event_id":"%s:4","bytes":%d}}`, box, 300<<10+len(`{"text":""}`)),
		one[string](b, `SELECT phase_data::text FROM spec_progress`), "merged by phase; a long one is named")
	got := b.phases(box)
	require.Equal(t, []string{"explore", "prd"}, got.Started)
	require.Equal(t, []string{"explore", "prd"}, got.Completed)
	require.Equal(t, "requirements", *got.NextExpected)
	require.Equal(t, 64, say("agent.completed", `{"spec_id":"sp","success":true,"phase_data":{"design":{"d":1},"unheard":{}}}`).Progress)
	require.Equal(t, "failed", say("continuous.completed", `{"spec_id":"sp","success":false}`).Status)
	require.Equal(t, "completed", say("spec.phase_completed", `{"phase":"sync","phase_output":{}}`).Status)
	require.Equal(t, 100, say("spec.execution_completed", `{}`).Progress)
	require.True(t, b.phases(box).HasCompleted)
}

func TestOddSpecEventsAreStoredAllTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.intake(ingest.IntakeConfig{}, nil)
	for _, odd := range []string{
		`{}`, `{"phase":7}`, `{"phase":"unheard"}`, `{"phase":"prd","phase_output":7}`, `{"phase":"prd","spec_id":{},"task_id":[]}`,
		`{"criterion_id":{"a":1}}`, `{"criterion_id":"c","evidence":{"x":[1]},"requirement_id":7}`, `{"success":false,"spec_id":"s","phase_data":[]}`,
	} {
		for _, eventType := range []string{
			"spec.phase_started", "spec.phase_completed", "spec.phase_failed", "spec.execution_failed", "spec.criterion_met", "spec.heartbeat", "agent.completed",
		} {
			b.report(i, "odd", eventType, json.RawMessage(odd))
		}
	}
	got := b.phases("odd")
	require.Equal(t, []string{"prd"}, got.Completed)
	require.True(t, got.HasFailed)
	require.Equal(t, 1, got.Spec.CriteriaMet)
}

func TestATasksSandboxHasPhasesButNoSpecOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, box := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	b.report(i, box, "spec.phase_completed", json.RawMessage(`{"spec_id":"s","phase":"tasks","phase_output":{"a":1}}`))
	b.report(i, "named", "spec.phase_completed", json.RawMessage(`{"spec_id":"s","phase":"tasks","phase_output":{"a":1},"task_id":"t"}`))
	for _, id := range []string{box, "named"} {
		require.Equal(t, []string{"tasks"}, b.phases(id).Completed)
		require.Zero(t, b.phases(id).Spec.Progress)
	}
}

func TestCriteriaAreToldToTheBus(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, box := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	b.exec(`UPDATE tasks SET result = '{"spec_id": "of the task"}'`)
	b.report(i, box, "spec.criterion_met", json.RawMessage(`{"criterion_id":"c1","requirement_id":"r1","evidence":"seen"}`))
	b.report(i, box, "spec.criterion_met", json.RawMessage(`{"criterion_id":"c2","spec_id":"own"}`))
	require.Equal(t, 2, b.phases(box).Spec.CriteriaMet)
	require.JSONEq(t, fmt.Sprintf(`{"criterion_id":"c1","requirement_id":"r1","evidence":"seen","sandbox_id":%q,"task_id":%q,"spec_id":"of the task"}`,
		box, one[string](b, `SELECT task_id::text FROM sandboxes WHERE id = $1`, box)),
		one[string](b, `SELECT payload::text FROM bus_events WHERE event_type = 'CRITERION_COMPLETED' AND entity_type = 'criterion' AND entity_id = 'c1'`))
	require.Equal(t, "own", one[string](b, `SELECT payload ->> 'spec_id' FROM bus_events WHERE entity_id = 'c2'`))
}

// TestRepeatsAndManyProcessesMoveProgressOnce sends every batch twice, by two processes.
func TestRepeatsAndManyProcessesMoveProgressOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := "spec-1"
	b.exec(`INSERT INTO sandboxes (id, provider, machine, state) VALUES ($1, 'bare', false, 'running')`, box)
	var batch []ingest.Event
	for n := range 20 {
		batch = append(batch, ingest.Event{Type: "spec.criterion_met", Data: data(t, map[string]any{"criterion_id": strconv.Itoa(n)})})
	}
	for _, phase := range spec.Phases() {
		batch = append(batch, ingest.Event{Type: "spec.phase_completed", Data: data(t, map[string]any{"phase": phase, "phase_output": map[string]any{"of": phase}})})
	}
	var group sync.WaitGroup
	for range 2 {
		i := b.intake(ingest.IntakeConfig{}, nil)
		group.Go(func() {
			if _, err := i.Batch(within(t), box, "spool", 1, batch); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	b.contiguous(box, len(batch))
	require.Equal(t, spec.State{Status: "completed", CurrentPhase: "sync", Progress: 100, CriteriaMet: 20}, *b.phases(box).Spec)
	require.Equal(t, 20, one[int](b, `SELECT count(*) FROM bus_events`))
	require.Equal(t, 6, one[int](b, `SELECT count(*) FROM spec_progress, jsonb_object_keys(phase_data)`))
}
