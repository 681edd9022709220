package app

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

func loaded(t *testing.T, environ ...string) *config.Loaded {
	t.Helper()
	cfg, err := config.Load(config.Source{Environ: append(environ, "OMOI_HOME="+filepath.Join(t.TempDir(), "home"))})
	require.NoError(t, err)
	return cfg
}

// Processes that start together read the same values, and other users cannot read the files.
func TestKeep_ConcurrentProcesses(t *testing.T) {
	t.Parallel()
	cfg := loaded(t)
	var all sync.WaitGroup
	tokens := make([]string, 8)
	for i := range tokens {
		all.Go(func() {
			ring, err := tokenRing(cfg)
			if err == nil {
				tokens[i] = ring.Mint("sandbox")
			}
		})
	}
	all.Wait()
	for _, minted := range tokens {
		require.NotEmpty(t, minted)
		require.Equal(t, tokens[0], minted)
	}
	info, err := os.Stat(filepath.Join(cfg.Home, "token.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	left, err := filepath.Glob(filepath.Join(cfg.Home, ".new-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A previous key stays valid while it is configured as token.previous_key.
func TestTokenRing_PreviousKey(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xfb\xff", 20)))
	before, err := tokenRing(loaded(t, "OMOI_TOKEN_KEY=one."+secret))
	require.NoError(t, err)
	minted := before.Mint("sandbox")
	after, err := tokenRing(loaded(t, "OMOI_TOKEN_KEY=two."+secret, "OMOI_TOKEN_PREVIOUS_KEY=one."+secret))
	require.NoError(t, err)
	require.NoError(t, after.Verify(minted, "sandbox"))
	require.NotEqual(t, minted, after.Mint("sandbox"))
	alone, err := tokenRing(loaded(t, "OMOI_TOKEN_KEY=two."+secret))
	require.NoError(t, err)
	require.Error(t, alone.Verify(minted, "sandbox"))
}

// keyRow is the row of the installation with concurrent writers.
type keyRow struct {
	print  token.Print
	before []token.Print // writes of other processes before the own writes
}

func (k *keyRow) TokenKey(context.Context) (token.Print, error) { return k.print, nil }

func (k *keyRow) SetTokenKey(_ context.Context, was, now token.Print) (bool, error) {
	if len(k.before) > 0 {
		k.print, k.before = k.before[0], k.before[1:]
	}
	if k.print != was {
		return false, nil
	}
	k.print = now
	return true, nil
}

// An installation has one key. A process that also holds the old key may replace it.
func TestAgreeOn(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 40)))
	ring := func(environ ...string) *token.Ring {
		r, err := tokenRing(loaded(t, environ...))
		require.NoError(t, err)
		return r
	}
	first, second := ring("OMOI_TOKEN_KEY=one."+secret), ring("OMOI_TOKEN_KEY=two."+secret)
	both := ring("OMOI_TOKEN_KEY=two."+secret, "OMOI_TOKEN_PREVIOUS_KEY=one."+secret)
	row := &keyRow{}
	agree := func(r *token.Ring, force bool) (bool, error) { return agreeOn(t.Context(), row, r, force) }
	for _, r := range []*token.Ring{first, first, both, second, both} {
		lost, err := agree(r, false)
		require.NoError(t, err)
		require.False(t, lost)
	}
	_, err := agree(first, false)
	require.Equal(t, task.CodeUnauthorized, task.CodeOf(err))
	require.ErrorContains(t, err, "OMOI_TOKEN_KEY")
	require.NotContains(t, err.Error(), secret)
	require.Equal(t, second.Signs(), row.print)
	sameName := ring("OMOI_TOKEN_KEY=two." + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("j", 40))))
	_, err = agree(sameName, false)
	require.Error(t, err, "another secret under the same id")
	lost, err := agree(first, true)
	require.NoError(t, err)
	require.True(t, lost)

	row = &keyRow{before: []token.Print{second.Signs()}}
	_, err = agree(first, false)
	require.Error(t, err, "another process was first")
}

func TestTokenRing_MalformedKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"nothing", "id.", "id.!!!", "id.c2hvcnQ"} {
		_, err := tokenRing(loaded(t, "OMOI_TOKEN_KEY="+key))
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), key)
	}
}

func TestAgents_MissingNamesNextStep(t *testing.T) {
	t.Parallel()
	_, err := agents{}.open("riscv64")
	require.ErrorContains(t, err, "make build")
	_, err = agents{configured: filepath.Join(t.TempDir(), "gone")}.open("amd64")
	require.ErrorContains(t, err, "make build")
	path := filepath.Join(t.TempDir(), "agent")
	require.NoError(t, os.WriteFile(path, []byte("agent"), 0o600))
	program, err := agents{configured: path}.open("amd64")
	require.NoError(t, err)
	require.NoError(t, program.Close())
}

// The model of a compatible endpoint does not apply to a subscription, which works at Anthropic's endpoint only.
func TestInstalled_ModelBelongsToEndpoint(t *testing.T) {
	t.Parallel()
	found := installed(loaded(t, "ANTHROPIC_AUTH_TOKEN=planted-1", "ANTHROPIC_BASE_URL=https://host", "ANTHROPIC_MODEL=glm", "CLAUDE_CODE_OAUTH_TOKEN=planted-2"))
	require.Equal(t, "glm", found[credential.Anthropic].Model)
	require.Equal(t, credential.Value{Secret: "planted-2"}, found[credential.ClaudeOAuth])
}

func TestPooled(t *testing.T) {
	t.Parallel()
	require.Contains(t, pooled(config.Database{URL: "postgres://h/d", MaxConns: 7}), "pool_max_conns=7")
	require.Contains(t, pooled(config.Database{URL: "postgres://h/d?pool_max_conns=3", MaxConns: 7}), "pool_max_conns=3")
}

func TestCheckKey_MinimumLength(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, checkKey(loaded(t, "OMOI_API_KEY=short")), "16 or more")
	require.NoError(t, checkKey(loaded(t, "OMOI_API_KEY=sixteen-or-more-1")))
	require.NoError(t, checkKey(loaded(t)))
	d := &dev{cfg: loaded(t, "OMOI_API_HOST=0.0.0.0", "OMOI_API_PORT=0", "OMOI_HOME="+t.TempDir())}
	require.ErrorContains(t, d.settle(t.Context()), "OMOI_API_KEY", "nothing is started where nobody could log in")
}

func TestCheckScript_UnknownStep(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkScript([]byte(`{"steps": [{"say": "hello"}]}`)))
	require.ErrorContains(t, checkScript([]byte(`{"steps": [{"dance": true}]}`)), `unknown step "dance"`)
}
