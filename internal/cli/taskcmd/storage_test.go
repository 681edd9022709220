package taskcmd_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/retention"
)

func TestStorage_ShowsSizesAndWhatExpires(t *testing.T) {
	t.Parallel()
	size := int64(3 << 20)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/storage", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, retention.Storage{At: time.Now(), Kinds: []retention.StorageKind{
			{Kind: "events", Bytes: &size, KeepSeconds: (180 * 24 * time.Hour).Seconds(), Expired: 2, ExpiredRows: 70},
			{Kind: "bus_rows", Bytes: &size},
			{Kind: "checkpoints", Bytes: &size, ObjectBytes: 5 << 30},
			{Kind: "refs", KeepSeconds: 90, Expired: 4},
		}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	got := (&fakeAPI{t: t, url: server.URL}).omoi("storage")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `events +3.0 MiB +180 days +70 events of 2 sandboxes`, got.out)
	require.Regexp(t, `bus rows +3.0 MiB +forever +nothing`, got.out)
	require.Regexp(t, `checkpoints +3.0 MiB, and 5.0 GiB in checkpoint.store +forever`, got.out)
	require.Regexp(t, `refs +- +1m30s +of 4 tasks`, got.out)
}
