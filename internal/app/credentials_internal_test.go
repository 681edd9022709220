package app

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
)

func TestJudgeCredentials(t *testing.T) {
	t.Parallel()
	found := judgeCredentials(true, credential.Health{KeyID: "k1", Stored: 3, Unreadable: 1, Keys: []string{"k0"}})
	require.Equal(t, FindingWarn, found.Status)
	require.Equal(t, "1 of 3 cannot be read here: they are encrypted with the keys k0", found.Detail)
	require.Contains(t, found.Next, "OMOI_CREDENTIAL_KEYS")
	require.Equal(t, FindingOK, judgeCredentials(true, credential.Health{KeyID: "k1", Stored: 3}).Status)
}

// The check creates no key, and names the invalid setting.
func TestCheckCredentials_CreatesNoKey(t *testing.T) {
	t.Parallel()
	cfg := fresh(t)
	require.Contains(t, checkCredentials(t.Context(), cfg, "").Detail, "no key yet")
	require.NoFileExists(t, filepath.Join(cfg.Home, credentialFile))
	_, err := credentialRing(cfg)
	require.NoError(t, err)
	require.Contains(t, checkCredentials(t.Context(), cfg, "").Detail, "key exists")
	wrong := checkCredentials(t.Context(), fresh(t, "OMOI_CREDENTIAL_KEYS=nonsense"), "")
	require.Equal(t, FindingFail, wrong.Status)
	require.Contains(t, wrong.Next, "OMOI_CREDENTIAL_KEYS")
	away := checkCredentials(t.Context(), cfg, "postgres://me:pw@127.0.0.1:1/none?connect_timeout=1")
	require.Equal(t, FindingWarn, away.Status)
}
