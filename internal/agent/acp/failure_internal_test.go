package acp

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/task"
	acptest "github.com/omoi-dev/omoi/internal/testkit/acp"
)

// TestClassOf checks the texts and codes that real agents send.
func TestClassOf(t *testing.T) {
	t.Parallel()
	for text, class := range map[string]task.FailureClass{
		"exceeded retry limit, last status: 429 Too Many Requests":                  task.ClassProviderLimit,
		"Authentication failed with provider at http://127.0.0.1:34765 (HTTP 401).": task.ClassCredentials,
		"API Error: Request rejected (429) · rate limit reached":                    task.ClassProviderLimit,
		"500 boom": task.ClassInfrastructure, "401 invalid api key": task.ClassCredentials,
		"retried 5 times (total retry wait time: 14.59 seconds) Last error: 500 boom": task.ClassInfrastructure,
		"prompt is too long: 210000 tokens > 200000 maximum":                          task.ClassAgentError,
		"Cannot connect to API: Unable to connect.":                                   task.ClassInfrastructure,
		"check your inference gateway (127.0.0.1:34401).":                             task.ClassAgentError,
		"I wrote 404 lines": task.ClassAgentError, "something else": task.ClassAgentError, "": task.ClassAgentError,
	} {
		require.Equal(t, class, classOf(0, "", text), text)
	}
	require.Equal(t, task.ClassCredentials, classOf(401, "", "x"))
	require.Equal(t, task.ClassProviderLimit, classOf(jsonrpc.CodeInternal, "rate_limit", "x"))
}

// TestRejected_WithoutALogin checks that the protocol's code of a missing login decides, whatever the text says.
func TestRejected_WithoutALogin(t *testing.T) {
	t.Parallel()
	f := (&talk{}).rejected(&jsonrpc.Error{Code: codeNoLogin, Message: "Choose an account: fetch failed"}, standing{})
	require.Equal(t, task.ClassCredentials, f.Class)
}

// A program without a key blames the connection.
func TestCategoryOf_MissingKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, task.ClassCredentials, categoryOf(&sessionFailure{Category: "connection", Title: "Missing environment variable: `OPENAI_API_KEY`."}))
	require.Equal(t, task.ClassInfrastructure, categoryOf(&sessionFailure{Category: "connection", Title: "stream disconnected"}))
}

// TestSilent_AfterANamedLimit checks that an agent which names a rate limit while it repeats its request, and says nothing else,
// was stopped by that limit.
func TestSilent_AfterANamedLimit(t *testing.T) {
	t.Parallel()
	r, _ := newTestRecorder(t)
	r.take(jsonrpc.Parse([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"session_info_update",` +
		`"_meta":{"jetbrains":{"air":{"sessionFailure":{"category":"limit","severity":"warning","title":"Retrying"}}}}}}}`)))
	require.Equal(t, task.ClassProviderLimit, (&talk{rec: r, end: &turn{stop: stopSilent}}).Failure().Class)
}

// TestDied checks the class of an agent that ended without an answer.
func TestDied(t *testing.T) {
	t.Parallel()
	talk := &talk{}
	for outcome, class := range map[proc.Outcome]task.FailureClass{
		proc.OutOfMemory: task.ClassResources, proc.Limit: task.ClassResources, proc.Killed: task.ClassInfrastructure, proc.Exited: task.ClassAgentError,
		proc.Timeout: task.ClassAgentError, proc.Stopped: task.ClassAgentError,
	} {
		require.Equal(t, class, talk.died(proc.Result{Outcome: outcome}).Class, outcome)
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{"0.61.0": false, "0.61.1-preview.2": false, "1.0": false, "0.60.9": true, "0.7": true, "": true, "dev": true} {
		require.Equal(t, old, older(version, "0.61.0"), version)
	}
}

// TestDialects checks each row of the table, and that the table of runtimes has the same agents.
func TestDialects(t *testing.T) {
	t.Parallel()
	for _, r := range task.Runtimes {
		_, ok := Of(r.Name)
		require.Equal(t, r.ACP, ok && r.Name != Claude, r.Name)
	}
	for _, name := range Names() {
		d, ok := Of(name)
		require.True(t, ok)
		require.True(t, name == Claude || task.RuntimeOf(name).ACP, name)
		require.True(t, d.Command != nil || slices.Contains(acptest.Agents(), strings.TrimSuffix(name, "-acp")), "frames of %s", name)
		require.NotEmpty(t, d.Title+d.Program)
		require.Contains(t, d.Install, d.Least)
		_, err := d.Environ(Place{Home: "/h", Dir: "/d", Work: "/w"}, Vars{})
		require.ErrorContains(t, err, "omoi credentials set "+d.credential())
		vars := Vars{strings.ToUpper(d.credential()) + "_API_KEY": "planted-key", "MODEL": "m"}
		env, err := d.Environ(Place{Home: "/h", Dir: "/d", Work: "/w"}, vars)
		require.NoError(t, err)
		for key, value := range env {
			if !keyForm.MatchString(key) && key != "COPILOT_GITHUB_TOKEN" {
				require.NotContains(t, value, "planted-key", key)
			}
		}
		require.Len(t, vars, 2, "the variables of the task are unchanged")
	}
}

// TestEndpoints checks that an endpoint of its own reaches the program of each agent.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"codex": {"OPENAI", "CODEX_CONFIG"}, "qwen": {"OPENAI", "OPENAI_BASE_URL"}, "gemini": {"GOOGLE", "GOOGLE_GEMINI_BASE_URL"},
		"opencode": {"ANTHROPIC", "OPENCODE_CONFIG_CONTENT"}, "copilot": {"OPENAI", "COPILOT_PROVIDER_BASE_URL"}, "openhands": {"OPENROUTER", "LLM_BASE_URL"}, Claude: {"ANTHROPIC", "ANTHROPIC_BASE_URL"},
	} {
		env, err := dialects[name].Environ(Place{Dir: "/d"}, Vars{c[0] + "_BASE_URL": "http://models:1/v1", "MODEL": "m"})
		require.NoError(t, err, name)
		require.Contains(t, env[c[1]], "http://models:1/v1", name)
	}
	env, err := dialects["opencode"].Environ(Place{}, Vars{"OPENAI_API_KEY": "x", "MODEL": "m"})
	require.NoError(t, err)
	for _, part := range []string{`"disabled_providers":["opencode"]`, `"model":"openai/m"`, `"small_model":"openai/m"`} {
		require.Contains(t, env["OPENCODE_CONFIG_CONTENT"], part, "the code goes to no free hosted model")
	}
	_, err = dialects["opencode"].Environ(Place{}, Vars{"OPENAI_API_KEY": "x"})
	require.ErrorContains(t, err, "no model is named")
}

// A session is given up only if the agent says that it has none: of omoi's own bridge only an unknown session says so.
func TestForgot(t *testing.T) {
	t.Parallel()
	own, other := Dialect{Command: func(string) ([]string, error) { return nil, nil }}, Dialect{}
	for code, want := range map[int][2]bool{jsonrpc.CodeNotFound: {true, true}, jsonrpc.CodeInternal: {false, true}, codeNoLogin: {false, false}} {
		err := fmt.Errorf("resume: %w", &jsonrpc.Error{Code: code})
		require.Equal(t, want, [2]bool{own.forgot(err), other.forgot(err)}, code)
	}
	require.True(t, own.forgot(errCannot))
	require.False(t, other.forgot(io.EOF))
}
