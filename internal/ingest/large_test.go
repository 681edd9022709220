package ingest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
)

const mib = 1 << 20

func data(tb testing.TB, fields map[string]any) json.RawMessage {
	tb.Helper()
	raw, err := json.Marshal(fields)
	require.NoError(tb, err)
	return raw
}

// report stores one event and answers how lists show it, and how its own address does.
func (b *bench) report(i *ingest.Intake, box, eventType string, raw json.RawMessage) (listed, whole ingest.StoredEvent) {
	b.t.Helper()
	receipt, err := i.Single(within(b.t), box, ingest.Event{Type: eventType, Data: raw}, true)
	require.NoError(b.t, err)
	rows, err := b.store.EventsAfter(b.t.Context(), box, receipt.Sequence-1, 1)
	require.NoError(b.t, err)
	whole, err = b.store.Event(b.t.Context(), box, receipt.Sequence)
	require.NoError(b.t, err)
	return rows[0], whole
}

func TestLargeFieldsAreKeptBesideTheRow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, box := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	middle := map[string]any{}
	for n := range 100 {
		middle[fmt.Sprintf("field %03d", n)] = strings.Repeat("m", 1000)
	}
	tiny := map[string]any{}
	for n := range 5000 {
		tiny[fmt.Sprintf("field %05d", n)] = strings.Repeat("t", 10)
	}
	long := strings.Repeat("<", ingest.LargeField)
	for name, c := range map[string]struct {
		said    map[string]any
		omitted []string // nil: see below
		none    bool
	}{
		"ten kilobytes stay":     {said: map[string]any{"a": strings.Repeat("x", 10_000), "b": 1}, none: true},
		"the large one goes":     {said: map[string]any{"full_diff": long, "file_path": "a.go", "n": 1.50}, omitted: []string{"full_diff"}},
		"objects too":            {said: map[string]any{"result": map[string]any{"deep": []any{long}}, "ok": true}, omitted: []string{"result"}},
		"as many as needed":      {said: middle},
		"too many are all":       {said: tiny, omitted: []string{"*"}},
		"a long name is a field": {said: map[string]any{long: 1, "n": 2}, omitted: []string{"*"}},
		"names are escaped":      {said: map[string]any{strings.Repeat("\x01", 12_000): 1, "n": 2}, omitted: []string{"*"}},
	} {
		for range 2 { // at first with a look at the row, then from memory
			listed, whole := b.report(i, box, "agent.tool_result", data(t, c.said))
			require.JSONEq(t, string(data(t, c.said)), string(whole.Data), name)
			require.Empty(t, whole.Omitted, name)
			require.LessOrEqual(t, len(listed.Data), ingest.LargeRow+ingest.LargeField, name) // the database adds blanks
			require.Equal(t, c.none, len(listed.Omitted) == 0, name)
			if c.omitted != nil {
				require.Equal(t, c.omitted, listed.Omitted, name)
			}
		}
	}
	b.contiguous(box, 14)
}

func TestLargeEventsOfABatchAreStoredOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, box := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	batch := events(5)
	batch[1].Data = data(t, map[string]any{"content": strings.Repeat("a", 20_000)})
	batch[4].Data = data(t, map[string]any{"content": strings.Repeat("b", 20_000)})
	for range 2 {
		receipt, err := i.Batch(within(t), box, "spool", 1, batch)
		require.NoError(t, err)
		require.Equal(t, int64(5), receipt.Acknowledged)
	}
	b.contiguous(box, 5)
	require.Equal(t, []int64{2, 5}, one[[]int64](b, `SELECT array_agg(sequence ORDER BY sequence) FROM event_fields`))
}

func TestACompletionOfAMebibyteReachesTheDigest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, box := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	output := strings.Repeat("o", mib)
	listed, whole := b.report(i, box, event.AgentCompleted, data(t, map[string]any{"success": false, "final_output": output, "stop_reason": "gave_up"}))
	require.Equal(t, []string{"final_output"}, listed.Omitted)
	require.Contains(t, string(whole.Data), output)
	digest, err := b.store.LoadEvents(t.Context(), contract.LoadEventsInput{SandboxID: box})
	require.NoError(t, err)
	require.Len(t, digest.Milestones, 1)
	require.Equal(t, "gave_up", digest.Milestones[0].StopReason)
	text, err := b.store.Text(t.Context(), digest.Milestones[0].ErrorID)
	require.NoError(t, err)
	require.Equal(t, output, text)
}

func completed(tb testing.TB, session, content string) json.RawMessage {
	tb.Helper()
	return data(tb, map[string]any{
		"success": true, "session_id": session, "turns": 3, "task_id": "", "transcript_b64": base64.StdEncoding.EncodeToString([]byte(content)),
	})
}

func TestTranscriptsOfOldWorkersLeaveTheEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, taskID := b.intake(ingest.IntakeConfig{}, nil), b.task()
	first, second, stranger := b.attempt(taskID, 1), b.attempt(taskID, 2), b.sandbox()
	listed, whole := b.report(i, first, event.AgentCompleted, completed(t, "s1", "one"))
	for _, e := range []ingest.StoredEvent{listed, whole} {
		require.Equal(t, []string{"transcript_b64"}, e.Omitted)
		require.NotContains(t, string(e.Data), "transcript_b64")
		require.Contains(t, string(e.Data), "s1")
	}
	content := func(box string) string {
		require.JSONEq(t, `{"turns": 3}`, one[string](b, `SELECT metadata::text FROM transcripts WHERE sandbox_id = $1 AND session_id = 's1'`, box))
		return one[string](b, `SELECT convert_from(content, 'UTF8') FROM transcripts WHERE sandbox_id = $1`, box)
	}
	require.Equal(t, "one", content(first))
	b.report(i, stranger, event.AgentCompleted, completed(t, "s1", "a stranger's"))
	b.report(i, "bare", event.AgentCompleted, completed(t, "s1", "of nobody"))
	require.Equal(t, []string{"one", "a stranger's", "of nobody"}, []string{content(first), content(stranger), content("bare")})
	b.report(i, second, event.AgentCompleted, completed(t, "s1", "one and two"))
	require.Equal(t, []string{"one", "one and two"}, []string{content(first), content(second)}, "each attempt has its own")
	require.Equal(t, 4, one[int](b, `SELECT count(*) FROM transcripts`))
}

// What an ended attempt says late takes nothing from a newer one, nor from itself.
func TestALateTranscriptFillsNoMoreThanAGap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, taskID := b.intake(ingest.IntakeConfig{}, nil), b.task()
	first, second := b.attempt(taskID, 1), b.attempt(taskID, 2)
	b.report(i, first, event.AgentCompleted, completed(t, "s1", "first"))
	b.report(i, second, event.AgentCompleted, completed(t, "s1", "second"))
	b.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, first)
	b.report(i, first, event.AgentCompleted, completed(t, "s1", "late"))
	b.report(i, first, event.AgentCompleted, completed(t, "s2", "a gap"))
	contents := one[[]string](b, `SELECT array_agg(convert_from(content, 'UTF8') ORDER BY session_id, sandbox_id = $1) FROM transcripts`, second)
	require.Equal(t, []string{"first", "second", "a gap"}, contents)
	newest, ok, err := b.store.EarlierTranscript(t.Context(), taskID, 3)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, second, newest.SandboxID)
}

func TestABrokenTranscriptIsALargeField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, box := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	said := data(t, map[string]any{"session_id": "s", "transcript_b64": "not base64!"})
	listed, whole := b.report(i, box, event.AgentCompleted, said)
	require.Equal(t, []string{"transcript_b64"}, listed.Omitted)
	require.JSONEq(t, string(said), string(whole.Data))
	require.Empty(t, whole.Omitted)
	require.Zero(t, one[int](b, `SELECT count(*) FROM transcripts WHERE sandbox_id = $1`, box))
	for _, odd := range []string{`{"transcript_b64":null}`, `{"transcript_b64":""}`, `{"transcript_b64":7,"session_id":{}}`, `{"transcript_b64":"aGk=","session_id":7}`} {
		_, whole := b.report(i, box, event.AgentCompleted, json.RawMessage(odd))
		require.JSONEq(t, odd, string(whole.Data))
	}
}
