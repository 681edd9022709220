package standin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox/daytona/standin"
)

func TestSandboxLivesAndEnds(t *testing.T) {
	t.Parallel()
	b := newBed(t, standin.Options{})
	made := b.api(200, "POST /sandbox", object{
		"name": "one", "snapshot": "ai-agent-dev-light", "labels": object{"owner": "me"}, "env": object{"GIVEN": "a b"}, "autoDeleteInterval": 0,
	})
	id := made["id"].(string)
	require.Equal(t, "started", made["state"])
	require.Equal(t, id, b.api(200, "GET /sandbox/one", nil)["id"])
	toolbox := made["toolboxProxyUrl"].(string) + "/" + id
	code, output := b.run(toolbox, `echo "$GIVEN" "$USER"; exit 3`)
	require.Equal(t, 3, code)
	require.Equal(t, "a b daytona\n", output)
	require.Len(t, b.api(200, "GET /sandbox?labels=%7B%22owner%22%3A%22me%22%7D", nil)["items"], 1)
	b.api(409, "POST /sandbox", object{"name": "one"})
	require.Equal(t, "destroying", b.api(200, "DELETE /sandbox/one", nil)["state"])
	b.until(id, "destroyed")
	b.api(404, "DELETE /sandbox/"+id, nil)
	require.Empty(t, b.Boxes())
}
