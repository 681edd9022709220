package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func (w *world) eventRange(sandbox, query string) client.EventRange {
	w.t.Helper()
	return ok[client.EventRange](w.call(http.MethodGet, wire+sandbox+"/event-range?"+query, nil), http.StatusOK)
}

func TestEventRange_HasEveryEventFromOneToTheOther(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.report("b", 1, strings.Split(strings.Repeat("x ", 620), " ")[:620]...)
	got := w.eventRange("b", "from=101&to=600")
	require.Len(t, got.Items, 500)
	for n, e := range got.Items {
		require.EqualValues(t, 101+n, e.Sequence)
	}
	require.Equal(t, []int64{101, 600}, []int64{got.From, got.To})
	require.Nil(t, got.LastSequence, "the response may be cached")
	got = w.eventRange("b", "from=619&to=1000")
	require.EqualValues(t, 620, *got.LastSequence)
	require.Len(t, got.Items, 2, "up to the last event")
	require.EqualValues(t, 620, got.To)
	path := wire + "b/event-range?"
	for query, location := range map[string]string{
		"from=0&to=5": "query.from", "from=6&to=5": "query.to", "from=1&to=501": "query.to", "from=1": "query.to",
	} {
		w.call(http.MethodGet, path+query, nil).refused(http.StatusUnprocessableEntity, location)
	}
	p := w.call(http.MethodGet, path+"from=621&to=630", nil).refused(http.StatusNotFound, "")
	require.Equal(t, task.KindBeyondLastEvent, p.Code)
	require.Contains(t, p.Detail, "the last event is 620")
	p = w.call(http.MethodGet, wire+"unseen/event-range?from=1&to=1", nil).refused(http.StatusNotFound, "")
	require.Equal(t, task.KindBeyondLastEvent, p.Code)
}

func TestEventRange_OfThePastMayBeKept(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.report("b", 1, "a", "b", "c")
	path := wire + "b/event-range?"
	whole := w.call(http.MethodGet, path+"from=1&to=3", nil)
	require.Equal(t, "private, max-age=86400, immutable", whole.header.Get("Cache-Control"))
	require.Contains(t, whole.header.Get("Vary"), "Authorization")
	part := w.call(http.MethodGet, path+"from=1&to=4", nil)
	require.Equal(t, "private, no-cache", part.header.Get("Cache-Control"), "event 4 is still to come")
	tag := part.header.Get("ETag")
	same := w.call(http.MethodGet, path+"from=1&to=4", nil, "If-None-Match", tag)
	require.Equal(t, http.StatusNotModified, same.status)
	require.Empty(t, same.body)
	w.report("b", 4, "d")
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, path+"from=1&to=4", nil, "If-None-Match", tag).status)
	packed := w.call(http.MethodGet, path+"from=1&to=4", nil, "Accept-Encoding", "identity")
	require.Empty(t, packed.header.Get("Content-Encoding"))
}

func TestEventRange_CutsTextsAndReturnsTheirParts(t *testing.T) {
	t.Parallel()
	w := open(t)
	const long = 5000
	text, huge := strings.Repeat("ü", long/2), strings.Repeat("line\n", 20_000)
	data, err := json.Marshal(map[string]any{
		"result": text, "tool_response": map[string]any{"stdout": []string{"short", text}, "n": 7}, "a/b~": text, "huge": huge,
	})
	require.NoError(t, err)
	w.call(http.MethodPost, wire+"b/events", map[string]any{"event_type": "x", "event_data": json.RawMessage(data)})
	e := w.eventRange("b", "from=1&to=1").Items[0]
	require.ElementsMatch(t, []client.TruncatedText{
		{Part: "/result", Bytes: long}, {Part: "/tool_response/stdout/1", Bytes: long}, {Part: "/a~1b~0", Bytes: long},
	}, e.Truncated)
	require.Equal(t, []string{"huge"}, e.Omitted)
	var short struct {
		Result string `json:"result"`
	}
	require.NoError(t, json.Unmarshal(e.Data, &short))
	require.Equal(t, text[:2048], short.Result)
	for part, want := range map[string]string{
		"/result": text, "/tool_response/stdout/1": text, "/a~1b~0": text, "/huge": huge, "/tool_response/n": "7",
	} {
		got := ""
		for offset := new(0); offset != nil; {
			p := ok[client.EventPart](w.call(http.MethodGet,
				fmt.Sprintf("%sb/events/1/part?part=%s&offset_bytes=%d&limit_bytes=4097", wire, part, *offset), nil), http.StatusOK)
			require.Equal(t, len(want), p.TotalBytes)
			require.Equal(t, len(got), p.OffsetBytes)
			got, offset = got+p.Text, p.NextOffsetBytes
		}
		require.Equal(t, want, got, part)
	}
	middle := ok[client.EventPart](w.call(http.MethodGet, wire+"b/events/1/part?part=/result&offset_bytes=1", nil), http.StatusOK)
	require.Equal(t, 2, middle.OffsetBytes, "the next character")
	w.call(http.MethodGet, wire+"b/events/1/part?part=/nothing", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, wire+"b/events/1/part?part=/result/0", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, wire+"b/events/2/part?part=/result", nil).refused(http.StatusNotFound, "")
}
