package api

import (
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"
)

// A response may have new properties; an unknown property of a request is an error.
func TestDocument_AnswersAreOpenAndRequestsClosed(t *testing.T) {
	t.Parallel()
	document := New(Config{}, Deps{Ports: PortsOf(nil)}).huma.OpenAPI()
	answers, objects := 0, 0
	for path, item := range document.Paths {
		for _, op := range operationsOf(item) {
			where := op.Method + " " + path
			for _, response := range op.Responses {
				visitContent(document, response.Content, map[string]bool{}, func(s *huma.Schema) {
					answers++
					require.NotEqual(t, false, s.AdditionalProperties, "an answer of %s: %s", where, s.Description)
				})
			}
			if op.RequestBody == nil || readsByHand(op.Method, path) {
				continue
			}
			visitContent(document, op.RequestBody.Content, map[string]bool{}, func(s *huma.Schema) {
				if len(s.Properties) > 0 {
					objects++
					require.Equal(t, false, s.AdditionalProperties, "the body of %s: %s", where, s.Description)
				}
			})
		}
	}
	require.Greater(t, answers, 500)
	require.Greater(t, objects, 20)
}

// readsByHand reports whether a route ignores unknown fields of its body: legacy routes, routes for agents, and
// webhooks.
func readsByHand(method, path string) bool {
	return isLegacy(method, path) || slices.Contains([]string{
		"POST /api/v1/sandboxes/{sandbox_id}/events/batch", "POST /api/v1/sandboxes/{sandbox_id}/outbox",
		"POST /api/v1/webhooks/github",
	}, method+" "+path)
}

func TestDocument_DuplicatesSchemasOfBoth(t *testing.T) {
	t.Parallel()
	document := New(Config{}, Deps{Ports: PortsOf(nil)}).huma.OpenAPI()
	schemas := document.Components.Schemas.Map()
	for path, name := range map[string]string{"/api/v1/tasks/{id}/budget": "Budget", "/api/v1/tasks/{id}/dependencies": "DependsOn"} {
		body := document.Paths[path].Put.RequestBody.Content["application/json"].Schema
		require.Equal(t, schemaPrefix+name+"Request", body.Ref)
		require.Equal(t, false, schemas[name+"Request"].AdditionalProperties)
		require.Nil(t, schemas[name].AdditionalProperties)
		require.Equal(t, schemas[name].Properties, schemas[name+"Request"].Properties)
	}
	require.Equal(t, schemaPrefix+"BudgetRequest", schemas["CreateTaskRequest"].Properties["budget"].Ref)
	require.Equal(t, schemaPrefix+"Budget", schemas["Task"].Properties["budget"].Ref)
}
