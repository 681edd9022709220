package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/transcript"
)

func TestTranscripts_NumberPerSandboxIsBounded(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.begin(w.task(newTask()))
	for n := range transcript.MaxRuns {
		w.put(box, fmt.Sprintf("run-%d", n), "", "one\n")
	}
	w.call(http.MethodPut, wire+box+"/transcripts/one-more?offset=0&sum=0", "one\n").refused(http.StatusConflict, "")
	w.put(box, "run-7", "one\n", "two\n")
	w.put(box, "run-8", "", "one\n") // its response was lost
	w.call(http.MethodPost, wire+box+"/events",
		`{"event_type":"agent.completed","event_data":{"session_id":"s","transcript_b64":"b25lCg=="}}`)
	require.Equal(t, transcript.MaxRuns, w.count(`SELECT count(*) FROM transcripts`))
}
