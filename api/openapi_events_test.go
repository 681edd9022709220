package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event/catalog"
)

// Each event matches exactly one of the schemas: that of its type, or the one for all others.
func TestDocument_EventsHaveTheFieldsOfTheirType(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	is := func(schema, eventType, data string) bool {
		var event any
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"id":"b:1","sandbox_id":"b","attempt":0,"sequence":1,"source":"agent",`+
			`"late":false,"created_at":"2026-01-02T03:04:05Z","event_type":%q,"event_data":%s}`, eventType, data), &event))
		return doc.Components.Schemas[schema].Value.VisitJSON(event, openapi3.EnableJSONSchema2020()) == nil
	}
	for _, form := range []string{"Event", "SandboxEvent", "CreateEventRequest"} {
		require.Len(t, doc.Components.Schemas[form].Value.OneOf, len(catalog.Events())+1)
		for _, e := range []struct{ eventType, data, schema string }{
			{"agent.started", `{"attempt":1,"more":1}`, "AgentStarted"},
			{"iteration.completed", `{}`, "IterationCompleted"},
			{"agent.started", `{"attempt":"first"}`, "Other"},
			{"acme.deployed", `{"attempt":"first"}`, "Other"},
		} {
			require.True(t, is(form, e.eventType, e.data), "%s %v", form, e)
			for _, schema := range []string{"AgentStarted", "IterationCompleted", "Other"} {
				require.Equal(t, schema == e.schema, is(strings.Replace(form, "Event", schema+"Event", 1), e.eventType, e.data), "%s %v: %s", form, e, schema)
			}
		}
	}
}
