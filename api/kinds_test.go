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

func TestKinds_OfRefusals(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	of, box := "/api/v1/tasks/"+made.ID, w.begin(made)
	w.repos.diff = strings.Repeat("+ line\n", 3<<20)
	w.exec(`UPDATE tasks SET branch_name = 'feature/x', base_commit = 'c0' WHERE id = $1`, made.ID)
	for _, c := range []struct {
		kind task.Kind
		got  answer
	}{
		{task.KindImmutable, w.call(http.MethodPatch, of, `{"agent":"claude"}`)},
		{task.KindDiffTooLong, w.call(http.MethodGet, of+"/diff", nil)},
		{task.KindOrigin, w.call(http.MethodGet, of, nil, "Origin", "http://other.example")},
		{task.KindInvalidState, w.call(http.MethodPost, wire+box+"/access-sessions", `{"kind":"shell","summary":"look"}`)},
		{task.KindNoAgent, w.call(http.MethodPost, "/api/v1/tasks", `{"title":"x","repo":"`+goodRepo+`"}`)},
	} {
		require.Equal(t, c.kind, c.got.refused(client.StatusOf(infoOf(c.kind).Code), "").Code)
	}
}

func infoOf(kind task.Kind) task.KindInfo {
	for _, k := range task.Kinds() {
		if k.Kind == kind {
			return k
		}
	}
	return task.KindInfo{}
}
