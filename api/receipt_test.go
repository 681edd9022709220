package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
)

func TestDeletionReceipt_OfItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	w.exec(`UPDATE sandboxes SET provider = 'daytona', machine = true, made_at = now() - interval '10s', gone_at = now(), price_per_second = 0.5,
		price_currency = 'EUR', cost_usd = 2 WHERE id = $1`, box)
	got := ok[client.TaskReceipt](w.call(http.MethodGet, "/api/v1/tasks/"+made.ID+"/receipt", nil), http.StatusOK)
	require.Equal(t, []any{made.ID, false, 1, box}, []any{got.TaskID, got.Verified, got.Unverified, got.Sandboxes[0].ID})
	require.InDelta(t, 5, got.Costs[0].Amount, 1e-3)
	require.InDelta(t, 2, *got.CostUSD, 1e-9)
	w.call(http.MethodGet, "/api/v1/tasks/x/receipt", nil).refused(http.StatusNotFound, "")

	other := startOn(t, w.pool, w.bus, func(c *api.Config) { c.Organization = w.strangers(); c.Open = true })
	other.call(http.MethodGet, "/api/v1/tasks/"+made.ID+"/receipt", nil).refused(http.StatusNotFound, "")
}

// strangers creates another organization.
func (w *world) strangers() string {
	w.t.Helper()
	id, err := w.store.EnsureOrganization(w.t.Context(), "strangers")
	require.NoError(w.t, err)
	return id
}
