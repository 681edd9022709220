package docker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestStat_TellsFaultsOfThePathFromFaultsOfTheEngine checks that both differ by an answer for the root of the sandbox.
func TestStat_TellsFaultsOfThePathFromFaultsOfTheEngine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, root int
		want       task.Code
	}{
		"a loop of links":        {http.StatusInternalServerError, http.StatusOK, task.CodeInvalid},
		"an engine without disk": {http.StatusInternalServerError, http.StatusInternalServerError, task.CodeUnavailable},
		"an engine that stops":   {http.StatusServiceUnavailable, http.StatusOK, task.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case !strings.HasSuffix(r.URL.Path, "/archive"):
					w.WriteHeader(http.StatusOK)
				case r.URL.Query().Get("path") == "/":
					w.Header().Set("X-Docker-Container-Path-Stat", "e30=")
					w.WriteHeader(c.root)
				default:
					w.WriteHeader(c.path)
				}
			}))
			t.Cleanup(server.Close)
			engine, err := dial(Config{Host: "tcp://" + server.Listener.Addr().String()})
			require.NoError(t, err)
			t.Cleanup(func() { _ = engine.Close() })
			w := walker{p: &Provider{engine: engine}, id: "box", name: "file", tree: "/work"}
			_, err = w.stat(t.Context(), "/repo/file")
			require.Equal(t, c.want, task.CodeOf(err))
		})
	}
}
