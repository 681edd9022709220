package api_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"
)

// spec holds answers against the committed OpenAPI document.
type spec struct{ router routers.Router }

func newSpec(tb testing.TB) *spec {
	tb.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(tb, err)
	router, err := gorillamux.NewRouter(doc)
	require.NoError(tb, err)
	return &spec{router: router}
}

// check fails the test if an answer is not what the document says. Paths that the
// document does not know are no business of it.
func (s *spec) check(tb testing.TB, method, path string, res *http.Response, body []byte) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, path, http.NoBody)
	require.NoError(tb, err)
	route, params, err := s.router.FindRoute(req)
	if err != nil {
		return
	}
	err = openapi3filter.ValidateResponse(tb.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 res.StatusCode,
		Header:                 res.Header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	require.NoError(tb, err, "%s %s answered %d: %s", method, path, res.StatusCode, body)
}
