package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/task"
)

func load(t *testing.T, src config.Source) *config.Loaded {
	t.Helper()
	loaded, err := config.Load(src)
	require.NoError(t, err)
	return loaded
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func origin(t *testing.T, loaded *config.Loaded, key string) string {
	t.Helper()
	for _, v := range loaded.Values {
		if v.Key == key {
			return v.Origin
		}
	}
	t.Fatalf("no setting %s", key)
	return ""
}

// Each layer overrides the layers below it.
func TestLayersOverrideInOrder(t *testing.T) {
	t.Parallel()
	work, home := t.TempDir(), t.TempDir()
	src := config.Source{WorkDir: work, Environ: []string{"OMOI_HOME=" + home, "OMOI_ENV=test"}}
	write(t, filepath.Join(home, "config", "test.yaml"), "")
	cpu := func(want float64, from string) {
		t.Helper()
		loaded := load(t, src)
		require.InDelta(t, want, loaded.Sandbox.CPU, 0)
		require.Equal(t, from, origin(t, loaded, "sandbox.cpu"))
	}
	cpu(2, "default")
	write(t, filepath.Join(home, "config", "base.yaml"), "sandbox: {cpu: 1.1}\n")
	cpu(1.1, filepath.Join(home, "config", "base.yaml"))
	write(t, filepath.Join(home, "config", "test.yaml"), "daytona:\n  sandbox_cpu: 1.2\n")
	cpu(1.2, filepath.Join(home, "config", "test.yaml"))
	write(t, filepath.Join(work, ".env"), "# a comment\nSANDBOX_CPU=1.3 # more\n")
	cpu(1.3, ".env SANDBOX_CPU")
	write(t, filepath.Join(work, ".env.local"), `export SANDBOX_CPU="1.4"`)
	cpu(1.4, ".env.local SANDBOX_CPU")
	src.Environ = append(src.Environ, "SANDBOX_CPU=1.5")
	cpu(1.5, "environment SANDBOX_CPU")
	src.Environ = append(src.Environ, "OMOI_SANDBOX_CPU=1.6")
	cpu(1.6, "environment OMOI_SANDBOX_CPU")
	src.Params = map[string]string{"sandbox.cpu": "1.7"}
	cpu(1.7, "parameter")
}

func TestSettings_KeepOldNames(t *testing.T) {
	t.Parallel()
	loaded := load(t, config.Source{Environ: []string{
		"DATABASE_URL=postgresql+asyncpg://me:hidden@db:5432/omoi", "REDIS_URL=redis://r:6379/0", "IDLE_THRESHOLD_MINUTES=7",
		"DAYTONA_API_KEY=k", "DAYTONA_API_URL=https://d/api", "DAYTONA_TARGET=eu", "SANDBOX_MEMORY_GB=8", "SANDBOX_DISK_GB=10",
		"SANDBOX_SNAPSHOT=s", "SANDBOX_IMAGE=i", "CALLBACK_URL=http://cb", "ANTHROPIC_API_KEY=a", "ANTHROPIC_BASE_URL=http://m",
		"ANTHROPIC_MODEL=m", "CLAUDE_CODE_OAUTH_TOKEN=o", "GITHUB_TOKEN=g", "MAX_CONCURRENT_TASKS_PER_PROJECT=9",
		"MONITORING_ENABLED=yes", "MONITORING_GUARDIAN_INTERVAL_SECONDS=61", "ORCHESTRATOR_ENABLED=0",
	}})
	require.Equal(t, "postgresql://me:hidden@db:5432/omoi", loaded.Database.URL.Reveal())
	require.Equal(t, 7*time.Minute, loaded.Task.IdleTimeout)
	require.Equal(t, 61*time.Second, loaded.Monitoring.GuardianInterval)
	require.Equal(t, []any{8.0, 10.0, "s", "i", "http://cb", 9, true, false, "eu"}, []any{
		loaded.Sandbox.MemoryGB, loaded.Sandbox.DiskGB, loaded.Sandbox.Snapshot, loaded.Sandbox.Image,
		loaded.API.CallbackURL, loaded.Task.MaxConcurrentPerProject, loaded.Monitoring.Enabled, loaded.Orchestrator.Enabled, loaded.Daytona.Target,
	})
	require.Empty(t, loaded.Warnings)
}

func TestInvalidSettings_NameKeyAndLimit(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"SANDBOX_MEMORY_GB=9":                   "sandbox.memory_gb (environment SANDBOX_MEMORY_GB): 9 is out of range: must be 0.125 to 8 GiB",
		"SANDBOX_CPU=5":                         "sandbox.cpu (environment SANDBOX_CPU): 5 is out of range: must be 0.1 to 4 CPUs",
		"SANDBOX_DISK_GB=11":                    "sandbox.disk_gb (environment SANDBOX_DISK_GB): 11 is out of range: must be 0.125 to 10 GB",
		"SANDBOX_MEMORY_GB=0":                   "0 is out of range: must be 0.125 to 8 GiB",
		"SANDBOX_CPU=NaN":                       `"NaN" is not a number`,
		"OMOI_API_PORT=70000":                   "api.port (environment OMOI_API_PORT): 70000 is out of range: must be 0 to 65535",
		"OMOI_API_PORT=many":                    `"many" is not an integer`,
		"OMOI_TASK_IDLE_TIMEOUT=soon":           `"soon" is not a duration, for example 90s, 15m or 4h`,
		"OMOI_TASK_MAX_RETRIES=11":              "task.max_retries",
		"OMOI_LOG_LEVEL=loud":                   `"loud" is not valid: must be one of debug, info, warn, error`,
		"OMOI_TASK_AGENT=clever":                `"clever" is not valid: must be one of ` + strings.Join(task.RuntimeNames(), ", "),
		"OMOI_TASK_PROVIDER=podman":             `"podman" is not valid: must be one of ` + strings.Join(task.ProviderNames(), ", "),
		"OMOI_API_AUTH_DISABLED=perhaps":        "must be true or false",
		"DATABASE_URL=mysql://root:hidden@h/db": "database.url: must be a URL that starts with postgres:// or postgresql://",
		"OMOI_ENV=../up":                        `env: "../up" is not valid`,
	}
	for variable, want := range cases {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(config.Source{Environ: []string{variable}})
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "hidden")
		})
	}
}

// An unreadable .env file stops the start with an error that names the next step.
func TestDotenv_UnreadableNamesTheNextStep(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	path := filepath.Join(work, ".env.local")
	require.NoError(t, os.Mkdir(path, 0o700)) // not even root can read a folder as a file
	_, err := config.Load(config.Source{WorkDir: work})
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "make it readable (chmod u+r), move it, or start omoi in another folder")
}

func TestDisabledAuthentication_NeedsLoopback(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Source{Environ: []string{"OMOI_API_AUTH_DISABLED=true", "OMOI_API_HOST=0.0.0.0"}})
	require.ErrorContains(t, err, "api.auth_disabled")
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		load(t, config.Source{Environ: []string{"OMOI_API_AUTH_DISABLED=true", "OMOI_API_HOST=" + host}})
	}
}

func TestUnknownSettings_AreReported(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	loaded := load(t, config.Source{Environ: []string{"OMOI_API_PROT=1", "OMOI_HOME=" + home}})
	require.Len(t, loaded.Warnings, 1)
	require.Contains(t, loaded.Warnings[0], "OMOI_API_PROT")
	write(t, filepath.Join(home, "config", "base.yaml"), "api: {prot: 1}\n")
	_, err := config.Load(config.Source{Environ: []string{"OMOI_HOME=" + home}})
	require.ErrorContains(t, err, "api.prot is not a setting")
}

func TestEmptyVariable_CountsAsUnset(t *testing.T) {
	t.Parallel()
	loaded := load(t, config.Source{Environ: []string{"DATABASE_URL=", "OMOI_API_PORT="}})
	require.Equal(t, 18000, loaded.API.Port)
	require.False(t, loaded.Given("api.port"))
	require.True(t, load(t, config.Source{Environ: []string{"OMOI_API_PORT=18000"}}).Given("api.port"))
}

// No printed form contains a planted secret. The parts of a URL without the password are printed.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	loaded := load(t, config.Source{Environ: []string{
		"DATABASE_URL=postgres://me:planted@db:5432/omoi?sslmode=disable&password=planted", "GITHUB_TOKEN=planted", "OMOI_API_KEY=planted",
	}})
	printed := fmt.Sprintf("%v %+v %#v", loaded, loaded.Config, loaded.Config)
	inJSON, err := json.Marshal(map[string]any{"url": loaded.Database.URL, "token": loaded.GitHub.Token, "key": loaded.API.Key})
	require.NoError(t, err)
	require.NotContains(t, printed+string(inJSON), "planted")
	require.Contains(t, printed, "postgres://me:xxxxx@db:5432/omoi")
	require.Equal(t, "planted", loaded.GitHub.Token.Reveal())
	shown := load(t, config.Source{Environ: []string{"ANTHROPIC_BASE_URL=http://me:planted@models.example/v1"}})
	require.NotContains(t, fmt.Sprint(shown.Values), "planted", "a password in an address that is no secret otherwise")
	require.Contains(t, fmt.Sprint(shown.Values), "http://me:xxxxx@models.example/v1")
}

// Every setting has a description and a default within its bounds.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range config.Fields() {
		if strings.HasPrefix(f.Key, "test.") {
			require.True(t, f.Hidden, f.Key)
			continue
		}
		require.NotEmpty(t, f.Doc, f.Key)
		require.True(t, strings.HasSuffix(f.Doc, "."), f.Key)
		if f.Default == "" {
			require.NotEmpty(t, f.Zero, f.Key)
		}
		for _, name := range f.Env {
			require.False(t, seen[name], "%s is used twice", name)
			seen[name] = true
		}
	}
}

// Loaded.Secrets contains each setting of the type Secret.
func TestAllSecretsAreKnown(t *testing.T) {
	t.Parallel()
	var environ, planted []string
	for _, f := range config.Fields() {
		if f.Secret {
			value := map[string]string{"database.url": "postgres://", "redis.url": "redis://", "diagnostic.webhook_url": "https://", "notice.smtp_url": "smtp://"}[f.Key] + "planted-" + f.Key
			environ, planted = append(environ, f.Env[0]+"="+value), append(planted, value)
		}
	}
	environ = append(environ, "GITHUB_APP_ID=7", "OMOI_NOTICE_MAIL_FROM=omoi@omoi.example") // without which others are refused
	require.Contains(t, planted, "planted-api.jwt_secret")
	require.Equal(t, planted, load(t, config.Source{Environ: environ}).Secrets())
	require.Empty(t, load(t, config.Source{}).Secrets())
}
