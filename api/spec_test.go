package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/ui"
	apitest "github.com/omoi-dev/omoi/internal/testkit/api"
)

// judge fails the test if a response violates the committed OpenAPI document, which leaves out the files of the page.
func judge(tb testing.TB, from apitest.Senders, res *http.Response, body []byte) {
	tb.Helper()
	if res.Header.Get("Content-Security-Policy") == ui.Policy {
		return
	}
	doc, err := apitest.Load("openapi.json", from)
	require.NoError(tb, err)
	require.NoError(tb, doc.Answer(res, body))
}
