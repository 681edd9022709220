package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	apitest "github.com/omoi-dev/omoi/internal/testkit/api"
)

// judge fails the test if a response violates the committed OpenAPI document.
func judge(tb testing.TB, res *http.Response, body []byte) {
	tb.Helper()
	doc, err := apitest.Load("openapi.json")
	require.NoError(tb, err)
	require.NoError(tb, doc.Answer(res, body))
}
