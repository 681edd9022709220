package api_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// An invalid cursor is 422 at each operation with a cursor, except those of the legacy API; an expired one is 410.
func TestPages_BadAndExpiredCursors(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	w := openAsUser(t)
	made, tried := w.task(newTask()), 0
	forged := base64.RawURLEncoding.EncodeToString([]byte("2026-03-02T09:00:00Z "))
	for path, item := range doc.Paths.Map() {
		if item.Get == nil || item.Get.Parameters.GetByInAndName("query", "cursor") == nil || item.Get.Tags[len(item.Get.Tags)-1] == "legacy" {
			continue
		}
		at := strings.ReplaceAll(path, "{id}", made.ID) + "?cursor="
		bad := []string{"mine", forged + "eA", forged}
		if item.Get.OperationID == "list-sandboxes" { // its IDs have any form
			bad = bad[:1]
		}
		for _, cursor := range bad {
			p := w.call(http.MethodGet, at+cursor, nil).refused(http.StatusUnprocessableEntity, "query.cursor")
			require.Equal(t, task.KindInvalidCursor, p.Code, at+cursor)
		}
		if item.Get.Responses.Value("410") != nil && !slices.Contains([]string{"list-task-events", "list-checkpoints"}, item.Get.OperationID) { // see TestRetention
			p := w.call(http.MethodGet, at+strings.Repeat("0", 32), nil).refused(http.StatusGone, "")
			require.Equal(t, task.KindDataRemoved, p.Code, at)
		}
		tried++
	}
	require.Greater(t, tried, 15)
}

// Lists that a port returns completely have pages like all others.
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
