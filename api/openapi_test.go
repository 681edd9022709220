package api_test

import (
	"flag"
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
)

var update = flag.Bool("update", false, "write api/openapi.json and the golden responses")

func TestOpenAPIDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	now, err := api.New(api.Config{}, api.Deps{Ports: api.PortsOf(nil)}).Document()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("openapi.json", now, 0o644))
	}
	stored, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	require.Equal(t, string(stored), string(now), "run: go test ./api -run OpenAPI -update")
}

func TestOpenAPIDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
}
