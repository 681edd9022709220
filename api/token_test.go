package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// The sandbox ledger decides how long a sandbox token is valid.
func TestSandboxToken_RejectedLongAfterDeletion(t *testing.T) {
	t.Parallel()
	w := closed(t)
	w.exec(`INSERT INTO sandboxes (id, organization_id, provider, host_bound, machine, state) VALUES ('box', $1, 'local', true, true, 'running')`, w.org)
	bearer := "Bearer " + w.ring.Mint("box")
	integrity := func() int { return w.call(http.MethodGet, wire+"box/integrity", nil, authorization, bearer).status }
	w.exec(`UPDATE sandboxes SET state = 'gone', gone_at = now(), verified_at = now() - interval '59 minutes'`)
	require.Equal(t, http.StatusOK, integrity())
	w.exec(`UPDATE sandboxes SET verified_at = now() - interval '61 minutes'`)
	require.Equal(t, http.StatusGone, integrity())
	for path, method := range map[string]string{
		"": http.MethodGet, "/events": http.MethodGet, "/trajectory": http.MethodGet, "/task": http.MethodGet,
		"/stream": http.MethodGet, "/messages": http.MethodGet, "/phase-status": http.MethodGet,
		"/task-complete": http.MethodPost, "/outbox": http.MethodPost,
		"/transcripts/run": http.MethodGet, "/transcripts/run?offset=0&sum=0": http.MethodPut,
		"/checkpoints/1.1/pack": http.MethodGet, "/checkpoints/1/pack": http.MethodPut,
	} {
		res := w.call(method, wire+"box"+path, nil, authorization, bearer)
		require.Equal(t, http.StatusGone, res.status, path)
	}
	w.call(http.MethodPost, wire+"box/events", `{"event_type":"x"}`, authorization, bearer).refused(http.StatusGone, "")
	w.socket(t, "?entity_ids=box", authorization, bearer).closedWith(4401)
	require.Equal(t, http.StatusOK,
		w.call(http.MethodGet, wire+"box/integrity", nil, authorization, w.key(w.org, "read")).status, "people may look")
}
