package credential_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
)

func installation() map[string]credential.Value {
	return map[string]credential.Value{
		credential.Anthropic: {Secret: "sk-installation", Models: credential.Models{Model: "claude-x"}},
		credential.GitHub:    {Secret: "ghp_installation"},
	}
}

// Find prefers the user's credential, then the project's, the organization's and the installation's.
func TestFind_Precedence(t *testing.T) {
	t.Parallel()
	b := newBench(t, installation())
	whose := func(user, project string) string {
		found, err := b.service.Find(t.Context(), credential.Who{OrganizationID: org, UserID: user, ProjectID: project}, credential.GitHub, 0)
		require.NoError(t, err)
		return found.Scope + " " + found.Secret
	}
	require.Equal(t, "installation ghp_installation", whose(alice, shop))
	b.set(credential.Who{}, credential.GitHub, "ghp_organization")
	require.Equal(t, "organization ghp_organization", whose(alice, shop))
	b.set(credential.Who{ProjectID: shop}, credential.GitHub, "ghp_project")
	require.Equal(t, "project ghp_project", whose(alice, shop))
	require.Equal(t, "organization ghp_organization", whose(alice, "another"))
	require.Equal(t, "organization ghp_organization", whose(alice, ""), "without a project none is one's own")
	b.set(credential.Who{UserID: alice}, credential.GitHub, "ghp_of_alice")
	require.Equal(t, "user ghp_of_alice", whose(alice, shop))
	require.Equal(t, "project ghp_project", whose(bob, shop), "nobody works with another's")
	require.Equal(t, "project ghp_project", whose("", shop))
	require.NoError(t, b.service.Remove(t.Context(), credential.Place{Who: credential.Who{OrganizationID: org, UserID: alice}, Kind: credential.GitHub}))
	require.Equal(t, "project ghp_project", whose(alice, shop))
}

// Other organizations neither use nor see the credentials of the configuration.
func TestFind_ConfigurationServesItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, installation())
	tenant := credential.Who{OrganizationID: "tenant", UserID: "carol"}
	_, err := b.service.Find(t.Context(), tenant, credential.Model, 0)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	require.ErrorContains(t, err, "Next: omoi credentials set anthropic")
	_, err = b.service.Find(t.Context(), tenant, credential.ClaudeOAuth, 0)
	require.Error(t, err)
	require.Equal(t, err.Error(), redact.Scrub(err.Error(), nil), "it looks like no credential")
	listed, err := b.service.List(t.Context(), tenant)
	require.NoError(t, err)
	require.Empty(t, listed)
}

// Within a scope a subscription precedes a key. A nearer scope precedes both.
func TestFind_ModelPrecedence(t *testing.T) {
	t.Parallel()
	b := newBench(t, installation())
	kind := func() string {
		found, err := b.service.Find(t.Context(), credential.Who{OrganizationID: org, UserID: alice}, credential.Model, 0)
		require.NoError(t, err)
		require.Equal(t, "claude-x", found.Model, "it named none")
		return found.Scope + " " + found.Kind
	}
	b.set(credential.Who{}, credential.ClaudeOAuth, "sk-ant-oat01-all")
	require.Equal(t, "organization claude_oauth", kind())
	b.set(credential.Who{UserID: alice}, credential.Anthropic, "sk-ant-api03-alice")
	require.Equal(t, "user anthropic", kind())
	b.set(credential.Who{UserID: alice}, credential.ClaudeOAuth, "sk-ant-oat01-alice")
	require.Equal(t, "user claude_oauth", kind())
}

func TestToken(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	_, _, _, err := b.service.Token(t.Context(), alice, shop)
	require.Equal(t, task.CodeUnauthorized, task.CodeOf(err))
	require.ErrorContains(t, err, "Next: omoi credentials set github")
	b.set(credential.Who{UserID: alice}, credential.GitHub, "ghp_of_alice")
	token, _, _, err := b.service.Token(t.Context(), alice, shop)
	require.NoError(t, err)
	require.Equal(t, "ghp_of_alice", token)
	require.Len(t, b.used, 1)
	_, _, _, err = b.service.Token(t.Context(), "", "")
	require.Equal(t, task.CodeUnauthorized, task.CodeOf(err))
	_, _, _, err = b.service.Token(t.Context(), alice, "lost")
	require.Error(t, err)
}

func TestList_ShowsVisibleCredentials(t *testing.T) {
	t.Parallel()
	b := newBench(t, installation())
	_, err := b.service.Set(t.Context(), credential.Place{Who: credential.Who{OrganizationID: org, UserID: alice}, Kind: credential.Anthropic}, credential.Value{
		Secret: "sk-ant-api03-0123456789abcdefWXYZ", Bearer: true, BaseURL: "https://api.z.ai/api/anthropic", Models: credential.Models{Model: "glm-4.6"},
	})
	require.NoError(t, err)
	b.set(credential.Who{UserID: bob}, "openai", "openai-of-bob")
	listed, err := b.service.List(t.Context(), credential.Who{OrganizationID: org, UserID: alice})
	require.NoError(t, err)
	require.Len(t, listed, 3, "of others nothing")
	require.Equal(t, "********WXYZ", listed[0].Masked)
	require.Equal(t, "glm-4.6", listed[0].Model)
	require.Equal(t, credential.ScopeInstallation, listed[1].Scope)
	require.Equal(t, "********", credential.Masked("sk-short-one"), "of a short one nothing")
}

func TestCheck_RefusesInvalidValues(t *testing.T) {
	t.Parallel()
	const good = "sk-ant-api03-0123456789"
	for name, c := range map[string]struct {
		kind  string
		value credential.Value
		field string
	}{
		"kind":         {"Open AI", credential.Value{Secret: good}, "kind"},
		"model":        {credential.Model, credential.Value{Secret: good}, "kind"},
		"our own":      {"omoios", credential.Value{Secret: good}, "kind"},
		"empty":        {credential.GitHub, credential.Value{}, "secret"},
		"number":       {"openai", credential.Value{Secret: "9876543210"}, "secret"},
		"path":         {"openai", credential.Value{Secret: "/home/me/key"}, "secret"},
		"two lines":    {credential.Anthropic, credential.Value{Secret: good + "\n" + good}, "secret"},
		"subscription": {credential.Anthropic, credential.Value{Secret: "sk-ant-oat01-012345"}, "secret"},
		"key":          {credential.ClaudeOAuth, credential.Value{Secret: good}, "secret"},
		"no token":     {credential.GitHub, credential.Value{Secret: good}, "secret"},
		"password":     {credential.Anthropic, credential.Value{Secret: good, BaseURL: "https://me:pass@host"}, "base_url"},
		"query":        {credential.Anthropic, credential.Value{Secret: good, BaseURL: "https://host?key=1"}, "base_url"},
		"no address":   {credential.Anthropic, credential.Value{Secret: good, BaseURL: "file:///etc/passwd"}, "base_url"},
		"elsewhere":    {credential.ClaudeOAuth, credential.Value{Secret: "sk-ant-oat01-0123", BaseURL: "https://host"}, "base_url"},
		"bearer":       {"openai", credential.Value{Secret: good, BaseURL: "https://host", Bearer: true}, "bearer"},
		"other models": {"openai", credential.Value{Secret: good, Models: credential.Models{Model: "m", Haiku: "h"}}, "bearer"},
		"model name":   {credential.Anthropic, credential.Value{Secret: good, Models: credential.Models{Opus: "a b"}}, "opus_model"},
	} {
		err := c.value.Check(c.kind)
		var coded *task.Error
		require.ErrorAs(t, err, &coded, name)
		require.Equal(t, c.field, coded.Field, name)
		require.NotContains(t, err.Error(), "0123456789", name)
	}
}
