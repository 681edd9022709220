package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestKinds_HaveTheStatusOfTheirCode(t *testing.T) {
	t.Parallel()
	for _, k := range task.Kinds() {
		require.Equal(t, k.Code, client.CodeOf(k.Status), k.Kind)
	}
}

func TestKinds_AreTheCodesOfTheDocument(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Enum []task.Kind `json:"enum"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(content, &doc))
	kinds := make([]task.Kind, 0, len(task.Kinds()))
	for _, k := range task.Kinds() {
		kinds = append(kinds, k.Kind)
	}
	require.Equal(t, kinds, doc.Components.Schemas["Problem"].Properties["code"].Enum)
}

func TestKinds_AgentsGetTheClass(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = "/api/v1/sandboxes/kinds/events"
	body := `{"event_type":"agent.message","event_data":{"text":"` + strings.Repeat("a", 2<<20) + `"}}`
	long := w.call(http.MethodPost, path, body).refused(http.StatusRequestEntityTooLarge, "")
	require.Equal(t, task.KindBodyTooLarge, long.Code)
	long = w.call(http.MethodPost, path, body, "Omoi-Protocol", "1").refused(http.StatusRequestEntityTooLarge, "")
	require.Equal(t, task.Kind("invalid"), long.Code)
}
