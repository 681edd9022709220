package api

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// Struct tags repeat the values of an enum.
func TestEnumsOfTheDocument_AreThoseOfTheDomain(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Enum  []string `json:"enum"`
					Items struct {
						Enum []string `json:"enum"`
					} `json:"items"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(content, &doc))
	for schema, fields := range map[string]map[string][]string{
		"Organization":              {"plan": task.Plans()},
		"UpdateOrganizationRequest": {"plan": task.Plans()},
		"Ticket":                    {"phase_id": task.Phases(), "priority": task.Priorities()},
		"CreateTicketRequest":       {"phase_id": task.Phases(), "priority": task.Priorities()},
		"UpdateTicketRequest":       {"phase_id": task.Phases()},
	} {
		for field, want := range fields {
			require.Equal(t, want, doc.Components.Schemas[schema].Properties[field].Enum, "%s.%s", schema, field)
		}
	}
	require.Equal(t, scopes(), doc.Components.Schemas["CreateAPIKeyRequest"].Properties["scopes"].Items.Enum)
}
