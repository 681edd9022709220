package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli"
)

// omoi runs one command line with only the variables in environ.
func omoi(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	environ = append(environ, "OMOI_HOME="+t.TempDir(), "PATH=/usr/bin:/bin")
	code = cli.Run(t.Context(), args, environ, strings.NewReader(""), &out, &complaints)
	return code, out.String(), complaints.String()
}

func TestWrongUsage_IsExitCode2(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"Unknown command \"rum\" in omoi (did you mean run?). Next: omoi --help":   {"rum"},
		"(did you mean ps or take?). Next: omoi --help":                            {"tasks"},
		"Unknown command \"xyzzy\"":                                                {"xyzzy"},
		"Unknown flag: --prot. Next: omoi dev --help":                              {"dev", "--prot", "1"},
		"Unknown command \"nope\" in omoi.":                                        {"help", "nope"},
		"omoi version takes no arguments, not \"now\"":                             {"version", "now"},
		"omoi dev takes no arguments, not \"extra\"":                               {"dev", "extra"},
		"omoi demo takes no arguments, not \"extra\"":                              {"demo", "extra"},
		"omoi doctor takes no arguments, not \"extra\"":                            {"doctor", "extra"},
		"omoi completion bash takes no arguments, not \"extra\"":                   {"completion", "bash", "extra"},
		"Unknown command \"nope\" in omoi migrate":                                 {"migrate", "nope"},
		"(did you mean status?). Next: omoi migrate --help":                        {"migrate", "statu"},
		"Unknown command \"nope\" in omoi keys":                                    {"keys", "nope"},
		"Unknown command \"invent\" in omoi project. Next: omoi project --help":    {"projects", "invent", "shop", "--repo", "x"},
		"Unknown flag: --repo. Next: omoi project --help":                          {"projects", "--repo", "x"},
		"Unknown command \"nope\" in omoi config":                                  {"config", "nope"},
		"Unknown command \"nope\" in omoi completion":                              {"completion", "nope"},
		"Unknown command \"no\" in omoi migrate":                                   {"help", "migrate", "no"},
		"70000 is out of range: must be 0 to 65535":                                {"dev", "--port", "70000"},
		"sandbox.memory_gb (parameter): 9 is out of range: must be 0.125 to 8 GiB": {"api", "--set", "sandbox.memory_gb=9"},
		"--set sandbox.memory=9":                                                   {"api", "--set", "sandbox.memory=9"},
		"--set sandbox.memory=8":                                                   {"--set", "sandbox.memory=8"},
		"api.url: must be a URL that starts with http:// or https://":              {"ps", "--api-url", "ftp://x"},
	}
	for want, args := range cases {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			code, out, complaints := omoi(t, nil, args...)
			require.Equal(t, 2, code)
			require.Contains(t, complaints, want)
			require.Empty(t, out)
		})
	}
}

// The flag takes precedence over the variable and needs no URL scheme.
func TestAPIURLFlag_TakesPrecedence(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[],"next_cursor":null}`)
	}))
	t.Cleanup(server.Close)
	code, _, complaints := omoi(t, []string{"OMOI_API_URL=http://127.0.0.1:1"}, "ps", "--api-url", strings.TrimPrefix(server.URL, "http://"))
	require.Zero(t, code, complaints)
	require.Equal(t, "/api/v1/tasks", <-asked)
}

func TestErrorsAsJSON(t *testing.T) {
	t.Parallel()
	_, out, complaints := omoi(t, nil, "--json", "xyzzy")
	require.Empty(t, out)
	var said struct {
		Error string `json:"error"`
		Code  int    `json:"exit_code"`
	}
	require.NoError(t, json.Unmarshal([]byte(complaints), &said))
	require.Equal(t, 2, said.Code)
	require.Contains(t, said.Error, "xyzzy")
}

func TestConfigShow(t *testing.T) {
	t.Parallel()
	environ := []string{"GITHUB_TOKEN=planted", "DATABASE_URL=postgres://u:planted@h/d", "SANDBOX_CPU=3", "OMOI_TYPO=1"}
	code, out, complaints := omoi(t, environ, "config", "show", "--set", "sandbox.disk_gb=5")
	require.Zero(t, code)
	require.NotContains(t, out, "planted")
	require.Regexp(t, `sandbox\.cpu +3 +environment SANDBOX_CPU`, out)
	require.Regexp(t, `sandbox\.disk_gb +5 +parameter`, out)
	require.Regexp(t, `sandbox\.memory_gb +4 +default`, out)
	require.Regexp(t, `github\.token +\*+ +environment GITHUB_TOKEN`, out)
	require.Contains(t, complaints, "OMOI_TYPO")

	code, out, _ = omoi(t, environ, "config", "show", "--api-url", "127.0.0.1:1")
	require.Zero(t, code)
	require.Regexp(t, `api\.url +http://127\.0\.0\.1:1 +parameter`, out, "a scheme is not needed")

	code, out, _ = omoi(t, environ, "config", "show", "--json")
	require.Zero(t, code)
	require.NotContains(t, out, "planted")
	var shown struct {
		Settings []struct {
			Key string `json:"key"`
		} `json:"settings"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	require.Greater(t, len(shown.Settings), 50)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, out, _ := omoi(t, nil, "version")
	require.Zero(t, code)
	require.Contains(t, out, "agent protocol")
	code, out, _ = omoi(t, nil, "--version")
	require.Zero(t, code)
	require.Regexp(t, "^omoi .+\n$", out)
	code, out, _ = omoi(t, nil, "help", "run")
	require.Zero(t, code)
	require.Contains(t, out, "example:hello")
	code, out, _ = omoi(t, nil, "version", "--json")
	require.Zero(t, code)
	require.True(t, json.Valid([]byte(out)))
}

// An unreachable database gives exit code 3. A server without the setting of its database gives exit code 2.
func TestExitCode_UnreachableDatabase(t *testing.T) {
	t.Parallel()
	code, _, complaints := omoi(t, nil, "migrate", "status")
	require.Equal(t, 3, code)
	require.Contains(t, complaints, "set DATABASE_URL, or start omoi dev")
	code, _, complaints = omoi(t, []string{"DATABASE_URL=postgres://127.0.0.1:1/none"}, "migrate", "up")
	require.Equal(t, 3, code, complaints)
	code, _, complaints = omoi(t, nil, "api")
	require.Equal(t, 2, code)
	require.Contains(t, complaints, "DATABASE_URL")
}

func TestHelp_ListsTheCommands(t *testing.T) {
	t.Parallel()
	code, out, _ := omoi(t, nil, "--help")
	require.Zero(t, code)
	for _, name := range []string{"dev", "api", "worker", "migrate", "doctor", "config", "version", "run", "ps", "show", "logs", "completion"} {
		require.Regexp(t, `(?m)^  `+name+` `, out)
	}
	begin, tasks := strings.Index(out, "Get started:"), strings.Index(out, "Tasks:")
	require.True(t, 0 < begin && begin < tasks, out)
	for _, code := range []string{"0", "1", "2", "3", "4", "5", "130"} {
		require.Regexp(t, `(?m)(^| )  `+code+` +[a-z]`, out, "what each exit code means")
	}
	for _, group := range []string{"migrate", "keys", "config", "completion"} {
		code, out, _ := omoi(t, nil, group)
		require.Zero(t, code)
		require.Contains(t, out, "Available Commands")
	}
}

// Every check of the doctor has a status, and a failed check has a next step.
func TestDoctor(t *testing.T) {
	t.Parallel()
	code, out, complaints := omoi(t, nil, "doctor", "--json")
	require.Contains(t, []int{0, 4}, code, complaints)
	var shown struct {
		Checks []struct {
			Check  string `json:"check"`
			Status string `json:"status"`
			Next   string `json:"next"`
		} `json:"checks"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	failed := false
	for _, c := range shown.Checks {
		require.Contains(t, []string{"ok", "warn", "fail"}, c.Status)
		failed = failed || c.Status == "fail"
		if c.Status != "ok" {
			require.NotEmpty(t, c.Next, c.Check)
		}
	}
	require.Equal(t, failed, code == 4)
}
