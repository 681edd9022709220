package app

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	githubtest "github.com/omoi-dev/omoi/internal/testkit/github"
)

// The key of the App comes from a variable, on one or more lines, or from a file. The finding reports whether GitHub
// knows the App.
func TestCheckGitHub_App(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	file := filepath.Join(t.TempDir(), "app.pem")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	hub, err := githubtest.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	hub.AddApp(7, &key.PublicKey, 0)
	for _, g := range []config.GitHub{
		{AppID: 7, AppKey: config.Secret(text)},
		{AppID: 7, AppKey: config.Secret(strings.ReplaceAll(text, "\n", `\n`))},
		{AppID: 7, AppKeyFile: file},
	} {
		g.URL = hub.URL
		found := checkGitHub(t.Context(), &config.Loaded{Config: config.Config{GitHub: g}})
		require.Equal(t, FindingOK, found.Status, found.Detail)
		require.Contains(t, found.Detail, "GitHub knows the App omoi test (7). The App has no installation.")
	}
	for want, g := range map[string]config.GitHub{
		"Next: make it readable":                                {AppID: 7, AppKeyFile: file + ".no"},
		"The private key of the GitHub App is invalid":          {AppID: 7, AppKey: "nearly a secret"},
		"does not know the GitHub App 8 with this private key:": {AppID: 8, AppKeyFile: file, URL: hub.URL},
	} {
		found := checkGitHub(t.Context(), &config.Loaded{Config: config.Config{GitHub: g}})
		require.Equal(t, FindingWarn, found.Status)
		require.Contains(t, found.Detail, want)
		require.NotContains(t, found.Detail, "nearly")
	}
	require.Contains(t, checkGitHub(t.Context(), &config.Loaded{}).Next, "omoi credentials set github")
}
