package taskcmd_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
)

// withHosts returns a server with hosts. lost collects the hosts declared lost.
func withHosts(t *testing.T, hosts ...client.Host) (f *fakeAPI, lost *[]string) {
	t.Helper()
	lost = &[]string{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/hosts", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Host]{Items: hosts})
	})
	mux.HandleFunc("POST /api/v1/hosts/{id}/mark-lost", func(w http.ResponseWriter, r *http.Request) {
		*lost = append(*lost, r.PathValue("id"))
		answer(w, http.StatusOK, client.Host{ID: r.PathValue("id"), Lost: 3})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &fakeAPI{t: t, url: server.URL}, lost
}

func TestHosts(t *testing.T) {
	t.Parallel()
	seen := time.Now().Add(-2 * time.Hour)
	f, _ := withHosts(t,
		client.Host{ID: "here-aaaa", Name: "pc1", Online: true, SeenAt: time.Now(), Running: 1},
		client.Host{ID: "away-bbbb", SeenAt: seen, Running: 2, Unverified: 1},
		client.Host{ID: "lost-cccc", SeenAt: seen, LostAt: &seen, Lost: 4},
	)
	got := f.omoi("host", "list")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `here-aaaa +pc1 +online .* 1 +0 +0`, got.out)
	require.Regexp(t, `away-bbbb +offline .*\(2h00m ago\) +2 +1 +0`, got.out)
	require.Regexp(t, `lost-cccc +lost .* 0 +0 +4`, got.out)
	require.Contains(t, got.out, "omoi host mark-lost away-bbbb")
	require.Contains(t, f.omoi("host", "list", "--json").out, `"unverified_sandboxes": 1`)
	require.Equal(t, exit.Usage, f.omoi("host", "list", "gone").code)

	none, _ := withHosts(t)
	require.Contains(t, none.omoi("host", "list").out, "omoi worker")
}

func TestHostsLost(t *testing.T) {
	t.Parallel()
	f, lost := withHosts(t,
		client.Host{ID: "here-aaaa", Name: "pc1", Online: true},
		client.Host{ID: "away-bbbb", Name: "pc2", Running: 2, Unverified: 1}, client.Host{ID: "away-cccc"},
	)
	for ref, code := range map[string]int{"away": exit.Usage, "none": exit.Failed, "pc1": exit.Failed, "pc2": exit.NeedsYou, "": exit.Failed} {
		require.Equal(t, code, f.omoi("host", "mark-lost", ref).code, ref)
	}
	require.Equal(t, exit.Usage, f.omoi("host", "mark-lost").code)
	require.Contains(t, f.omoi("host", "mark-lost", "pc1", "--yes").err, "is online")
	require.Contains(t, f.omoi("host", "mark-lost", "bbbb").err, "2 running, 1 unverified")
	require.Empty(t, *lost)
	got := f.omoi("host", "mark-lost", "bbbb", "--yes")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "Marked host away-bbbb as lost, with 3 sandboxes.")
	require.Contains(t, f.omoi("host", "mark-lost", "pc2", "--yes", "--json").out, `"lost_sandboxes": 3`)
	require.Equal(t, []string{"away-bbbb", "away-bbbb"}, *lost)
}

func TestCompletion_OffersHostsAndProjects(t *testing.T) {
	t.Parallel()
	f, _ := withHosts(t, client.Host{ID: "build-3", Name: "pc3"})
	require.Contains(t, f.omoi("__complete", "host", "mark-lost", "").out, "build-3\tpc3")
	require.Contains(t, newFake(t).omoi("__complete", "project", "pause", "").out, "app\n")
}
