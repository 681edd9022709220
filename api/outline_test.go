package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// happens stores an event.
func (w *world) happens(box, kind, data string) {
	w.t.Helper()
	w.call(http.MethodPost, wire+box+"/events", `{"event_type":"`+kind+`","event_data":`+data+`}`)
}

func (w *world) outline(box, query string) client.Outline {
	w.t.Helper()
	return ok[client.Outline](w.call(http.MethodGet, wire+box+"/outline?"+query, nil), http.StatusOK)
}

func TestOutline_HasAColumnForEachField(t *testing.T) {
	t.Parallel()
	w := open(t)
	require.Empty(t, w.outline("unseen", "").Type)
	w.happens("b", "agent.started", `{}`)
	w.happens("b", "agent.tool_use", `{"tool":"Bash","tool_use_id":"c1","input":{"command":"go test"}}`)
	w.happens("b", "agent.tool_use", `{"tool":"Read","tool_use_id":"c2"}`)
	w.happens("b", "agent.tool_result", `{"tool":"Bash","tool_use_id":"c1","is_error":true,"result":"`+strings.Repeat("FAIL ", 100)+`"}`)
	w.happens("b", "agent.tool_result", `{"tool":7,"tool_use_id":null,"is_error":"no"}`)
	w.happens("b", "agent.error", `{"error":"gave up"}`)
	got := w.outline("b", "")
	require.Equal(t, []string{"agent.started", "agent.tool_use", "agent.tool_result", "agent.error"}, got.EventTypes)
	require.Equal(t, []int{0, 1, 1, 2, 2, 3}, got.Type)
	require.Equal(t, []string{"Bash", "Read", "7"}, got.Tools)
	require.Equal(t, []int{-1, 0, 1, 0, 2, -1}, got.Tool)
	require.Equal(t, []string{"c1", "c2"}, got.CallIDs)
	require.Equal(t, []int{-1, 0, 1, 0, -1, -1}, got.Call)
	require.Equal(t, []int64{4, 6}, got.Failed)
	require.Greater(t, got.Bytes[3], got.Bytes[0])
	require.Equal(t, int64(0), got.AtMs[0])
	require.Nil(t, got.NextAfter)
	require.EqualValues(t, 6, *got.LastSequence)

	part := w.outline("b", "after=1&limit=2")
	require.Equal(t, []int{0, 0}, part.Type)
	require.EqualValues(t, 3, *part.NextAfter)
	require.Nil(t, part.LastSequence)
	require.Empty(t, w.outline("b", "after=6").Type)
	p := w.call(http.MethodGet, wire+"b/outline?after=7", nil).refused(http.StatusNotFound, "")
	require.Equal(t, task.KindBeyondLastEvent, p.Code)
	kept := w.call(http.MethodGet, wire+"b/outline?limit=2", nil)
	require.Contains(t, kept.header.Get("Cache-Control"), "immutable")
	require.Contains(t, w.call(http.MethodGet, wire+"b/outline", nil).header.Get("Cache-Control"), "no-cache")
	require.Equal(t, http.StatusNotModified, w.call(http.MethodGet, wire+"b/outline?limit=2", nil, "If-None-Match", kept.header.Get("ETag")).status)
	w.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ('b', 'events', now())`)
	w.exec(`DELETE FROM sandbox_events`)
	for _, path := range []string{"outline", "event-search?q=x"} {
		require.Equal(t, task.KindDataRemoved, w.call(http.MethodGet, wire+"b/"+path, nil).refused(http.StatusGone, "").Code)
	}
}

func (w *world) searches(box, q, more string) client.EventSearch {
	w.t.Helper()
	return ok[client.EventSearch](w.call(http.MethodGet, wire+box+"/event-search?q="+url.QueryEscape(q)+more, nil), http.StatusOK)
}

func TestSearch_FindsTextsInAnyForm(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.happens("b", "agent.message", `{"content":"The Quick brown fox"}`)
	w.happens("b", "agent.tool_result", `{"result":"a \"quoted\" path C:\\dir\n100% of_it <b> & \u2028 end","content":7}`)
	w.happens("b", "agent.tool_use", `{"input":{"files":["x","`+strings.Repeat("é😀", 300)+`needle`+strings.Repeat("😀", 300)+`"]}}`)
	w.happens("b", "agent.message", `{"quick":"slow"}`)
	for q, want := range map[string][]int64{
		"quick": {1}, "QUICK BROWN": {1}, `"quoted" path C:\d`: {2}, "100%": {2}, "f_i": {2}, "dir\n100": {2}, "<b> &": {2}, "& \u2028 e": {2},
		"%": {2}, "_": {2}, "nothing": {}, "needle": {3},
	} {
		got := []int64{}
		for _, m := range w.searches("b", q, "").Items {
			got = append(got, m.Sequence)
			units := []rune(m.Snippet)
			require.LessOrEqual(t, len(units), 210)
		}
		require.Equal(t, want, got, q)
	}
	m := w.searches("b", "needle", "").Items[0]
	require.Equal(t, "/input/files/1", m.Part)
	require.Equal(t, []int{146, 6}, []int{m.MatchOffset, m.MatchLength}, "48 of one unit and 49 of two")
	require.Equal(t, []int64{1}, sequences(w.searches("b", "o", "&event_type=agent.message&limit=1")))
	for _, path := range []string{"q=", "q=%20", "q=" + strings.Repeat("x", 201), "q=%ff", "q=%00", "limit=5"} {
		w.call(http.MethodGet, wire+"b/event-search?"+path, nil).refused(http.StatusUnprocessableEntity, "query.q")
	}
}

func sequences(found client.EventSearch) (all []int64) {
	for _, m := range found.Items {
		all = append(all, m.Sequence)
	}
	return all
}

func TestSearch_InBoundedSteps(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.happens("b", "agent.message", `{"content":"needle"}`)
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT 'b', n, (SELECT partition_month FROM sandboxes WHERE id = 'b'), 'agent.message',
			jsonb_build_object('content', CASE WHEN n % 4000 = 0 THEN 'Needle ' ELSE 'hay ' END || n) FROM generate_series(2, 12000) n`)
	w.exec(`UPDATE sandboxes SET last_sequence = 12000 WHERE id = 'b'`)
	found, after, steps := []int64{}, new(int64(0)), 0
	for ; after != nil; steps++ {
		page := w.searches("b", "needle", fmt.Sprintf("&after=%d", *after))
		found, after = append(found, sequences(page)...), page.NextAfter
	}
	require.Equal(t, []int64{1, 4000, 8000, 12000}, found)
	require.Equal(t, 3, steps)
	page := w.searches("b", "needle", "&limit=2")
	require.EqualValues(t, 4000, page.SearchedTo)
	require.EqualValues(t, 4000, *page.NextAfter)
}

// searchless is a store whose searches wait.
type searchless struct {
	api.Outlines

	asked atomic.Int64
	hold  chan struct{}
}

func (s *searchless) SearchEvents(context.Context, ingest.EventSearch) ([]ingest.StoredEvent, error) {
	s.asked.Add(1)
	<-s.hold
	return nil, nil
}

// TestSearch_TooManySearches fills all places with different requests.
func TestSearch_TooManySearches(t *testing.T) {
	t.Parallel()
	s := &searchless{hold: make(chan struct{})}
	w := startWith(t, pgtest.New(t), live.New(), func(c *api.Config) { c.Open = true }, func(d *api.Deps) { d.Outlines = s })
	w.happens("b", "agent.message", `{"content":"needle"}`)
	open := sync.OnceFunc(func() { close(s.hold) })
	t.Cleanup(open)
	var all sync.WaitGroup
	refused := make(chan answer, 80)
	for n := range 80 {
		all.Go(func() {
			if a := w.call(http.MethodGet, fmt.Sprintf("%sb/event-search?q=%d", wire, n), nil); a.status != http.StatusOK {
				refused <- a
			}
		})
	}
	a := <-refused
	require.Equal(t, task.KindOverloaded, a.refused(http.StatusServiceUnavailable, "").Code)
	require.LessOrEqual(t, s.asked.Load(), int64(4), "at once")
	open()
	all.Wait()
}
