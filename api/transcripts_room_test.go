package api_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestASandboxHasTranscriptsOfSoManyRuns(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.begin(w.task(newTask()))
	for n := range task.MaxTranscripts {
		w.put(box, fmt.Sprintf("run-%d", n), "", "one\n")
	}
	w.call(http.MethodPut, wire+box+"/transcripts/one-more?offset=0&sum=0", "one\n").refused(http.StatusConflict, "")
	w.put(box, "run-7", "one\n", "two\n")
	w.put(box, "run-8", "", "one\n") // its answer was lost
	w.call(http.MethodPost, wire+box+"/events", `{"event_type":"agent.completed","event_data":{"session_id":"s","transcript_b64":"b25lCg=="}}`)
	require.Equal(t, task.MaxTranscripts, w.count(`SELECT count(*) FROM transcripts`))
}

// Uploads that do not end take the room that their bytes take, and give it back.
func TestTranscriptsThatComeAtOnceShareARoom(t *testing.T) {
	t.Parallel()
	const uploads = 8
	w := open(t)
	box := w.begin(w.task(newTask()))
	text := strings.Repeat("x", task.MaxTranscriptPiece-1) // its last byte does not come
	var begun []*io.PipeWriter
	answers := make(chan int, uploads)
	for n := range uploads {
		body, send := io.Pipe()
		begun = append(begun, send)
		go func() {
			answers <- w.upload(t, fmt.Sprintf("%s%s/transcripts/run-%d?offset=0&sum=0", wire, box, n), body)
		}()
		go func() { _, _ = io.WriteString(send, text) }()
	}
	small := func() answer {
		return w.call(http.MethodPut, wire+box+"/transcripts/small?offset=0&sum=0", strings.Repeat("y", 1000)+"\n")
	}
	refused := small()
	for ; refused.status == http.StatusOK; refused = small() { // the others are still coming
	}
	require.Equal(t, http.StatusServiceUnavailable, refused.status)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	for _, send := range begun {
		go func() { _, _ = io.WriteString(send, "\n"); _ = send.Close() }()
	}
	for range uploads {
		require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, <-answers, "a small one may have been in the way")
	}
	require.Equal(t, http.StatusOK, small().status)
}

// upload answers the status, 0 for none.
func (w *world) upload(t *testing.T, path string, body io.Reader) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, w.url+path, body)
	if err != nil {
		return 0
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = got.Body.Close()
	return got.StatusCode
}
