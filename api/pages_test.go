package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// Lists that are read as a whole are paged as all others.
func TestPages_OfAWholeList(t *testing.T) {
	t.Parallel()
	w := closed(t)
	alice := w.keyOf(w.org, "alice", "write")
	for _, kind := range []string{"anthropic", "openai"} {
		ok[client.Credential](w.call(http.MethodPut, credentials+"/"+kind, client.SetCredentialRequest{Secret: "key-of-" + kind + "-0"},
			authorization, alice), http.StatusOK)
	}
	page := func(query string) client.Page[client.Credential] {
		return ok[client.Page[client.Credential]](w.call(http.MethodGet, credentials+query, nil, authorization, alice),
			http.StatusOK)
	}
	all := page("")
	require.Len(t, all.Items, 3, "with the one of the installation")
	require.Nil(t, all.NextCursor)
	first := page("?limit=1")
	require.Equal(t, all.Items[:1], first.Items)
	rest := page("?limit=2&cursor=" + *first.NextCursor)
	require.Equal(t, all.Items[1:], rest.Items)
	require.Nil(t, rest.NextCursor)

	w.call(http.MethodGet, credentials+"?cursor=mine", nil, authorization, alice).refused(422, "query.cursor")
	require.Equal(t, http.StatusNoContent,
		w.call(http.MethodDelete, credentials+"/"+first.Items[0].Kind, nil, authorization, alice).status)
	w.call(http.MethodGet, credentials+"?cursor="+*first.NextCursor, nil, authorization, alice).refused(http.StatusGone, "")
}
