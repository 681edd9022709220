package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

func TestHosts_RequireAdmin(t *testing.T) {
	t.Parallel()
	w := closed(t)
	admin, write := w.key(w.org, "admin"), w.key(w.org, "write")
	_, err := w.store.HostSeen(t.Context(), "pc1", []string{"local"}, nil, 2)
	require.NoError(t, err)
	const hosts, lose = "/api/v1/hosts", "/api/v1/hosts/pc1/mark-lost"
	w.call(http.MethodGet, hosts, nil, authorization, write).refused(http.StatusForbidden, "")
	w.call(http.MethodPost, lose, nil, authorization, write).refused(http.StatusForbidden, "")
	w.call(http.MethodPost, "/api/v1/hosts/pc2/mark-lost", nil, authorization, admin).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, lose, nil, authorization, admin).refused(http.StatusConflict, "")

	listed := func() client.Host {
		page := ok[client.Page[client.Host]](w.call(http.MethodGet, hosts, nil, authorization, admin), http.StatusOK)
		require.Len(t, page.Items, 1)
		return page.Items[0]
	}
	require.True(t, listed().Online)
	w.exec(`UPDATE hosts SET seen_at = now() - interval '1 hour'`)
	require.False(t, listed().Online)
	require.NotNil(t, ok[client.Host](w.call(http.MethodPost, lose, nil, authorization, admin), http.StatusOK).LostAt)
	require.NotNil(t, listed().LostAt)
}
