package taskcmd_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestTranscript(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{ID: idA}}
	none := f.omoi("transcript", "-")
	require.NotZero(t, none.code)
	require.Contains(t, none.err, "omoi logs 456789ab")
	f.transcripts = []client.TranscriptInfo{{RunID: "one", Attempt: 1}, {RunID: "two", Attempt: 2, CutBytes: 70}}
	got := f.omoi("transcript", "-")
	require.Equal(t, `{"run":"two"}`+"\n", got.out)
	require.Contains(t, got.err, "The oldest 70 bytes are no longer stored.")
	require.Equal(t, result{out: `{"run":"one"}` + "\n"}, f.omoi("transcript", "-", "--attempt", "1"))
	require.Contains(t, f.omoi("transcript", "-", "--attempt", "3").err, "Attempt 3")
	require.Equal(t, 2, f.omoi("transcript", "-", "--attempt", "-1").code)
	var out map[string]any
	requireJSON(t, f.omoi("transcript", "-", "--json").out, &out)
	require.Equal(t, []any{"two", 2.0, `{"run":"two"}` + "\n"}, []any{out["run_id"], out["attempt"], out["content"]})
}

func (f *fakeAPI) serveTranscripts(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/tasks/{id}/transcripts", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.TranscriptInfo]{Items: f.transcripts})
	})
	mux.HandleFunc("GET /api/v1/tasks/{id}/transcripts/{run}", func(w http.ResponseWriter, r *http.Request) {
		text, known := f.texts[r.PathValue("run")]
		switch {
		case known:
			_, _ = w.Write([]byte(text))
		case f.texts != nil:
			problem(w, task.CodeNotFound, "There is no such transcript.")
		default:
			_, _ = w.Write([]byte(`{"run":"` + r.PathValue("run") + "\"}\n"))
		}
	})
}
