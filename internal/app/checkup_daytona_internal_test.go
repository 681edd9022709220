package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
)

func TestTheDoctorSaysWhetherTheKeyOfDaytonaWorks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	look := func(environ ...string) Finding {
		cfg, err := config.Load(config.Source{Environ: append(environ, "OMOI_HOME="+t.TempDir(), "DAYTONA_API_URL="+server.URL)})
		require.NoError(t, err)
		return checkDaytona(t.Context(), cfg)
	}
	none := look()
	require.Equal(t, FindingOK, none.Status)
	require.Contains(t, none.Next, "DAYTONA_API_KEY")
	refused := look("DAYTONA_API_KEY=wrong")
	require.Equal(t, FindingWarn, refused.Status)
	require.Contains(t, refused.Detail, "Daytona refused the API key")
}
