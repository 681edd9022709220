package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

type knownHosts []client.Host

func (h knownHosts) Hosts(context.Context) ([]client.Host, error) {
	return append(knownHosts{}, h...), nil
}

// login returns an error with its code; empty: a credential exists.
type login task.Code

func (l login) ForTask(_ context.Context, work task.Work) (map[string]string, error) {
	if l == "" || work.Agent != task.AgentClaude {
		if slices.Equal(work.Execution.Credentials, []string{credential.GitHub}) {
			return map[string]string{"GITHUB_TOKEN": "x"}, nil
		}
		return map[string]string{"ANTHROPIC_API_KEY": "x"}, nil
	}
	return nil, task.Errorf(task.Code(l), "There is no key. Next: omoi credentials set anthropic")
}

func TestAgentRuntime_WorksWithProgramOnEachHostAndCredential(t *testing.T) {
	t.Parallel()
	local := []string{task.ProviderLocal}
	has := client.Host{Name: "has", Providers: local, Agents: []string{task.AgentClaude}, Online: true}
	lacks := client.Host{Name: "lacks", Providers: local, Online: true}
	silent, docker := lacks, lacks
	silent.Online, docker.Providers = false, []string{task.ProviderDocker}
	last := has
	last.Online = false
	noProgram := func(lack, all int) string {
		return fmt.Sprintf("The program claude is missing, too old or not readable on %d of %d hosts. Next: omoi doctor on them", lack, all)
	}
	gitOnly := task.Execution{Credentials: []string{credential.GitHub}}
	ownKey := gitOnly
	ownKey.Env = map[string]string{"ANTHROPIC_API_KEY": "x"}
	for name, c := range map[string]struct {
		hosts     knownHosts
		login     login
		provider  string
		execution task.Execution
		missing   []string // parts of the sentences
	}{
		"program and credential":      {hosts: knownHosts{has}},
		"no program":                  {hosts: knownHosts{lacks}, missing: []string{noProgram(1, 1)}},
		"one host lacks the program":  {hosts: knownHosts{has, lacks, lacks}, missing: []string{noProgram(2, 3)}},
		"no host":                     {missing: []string{"No host with local sandboxes has reported. Next: omoi worker (or omoi dev)"}},
		"only hosts of another":       {hosts: knownHosts{docker}, missing: []string{"No host with local sandboxes has reported."}},
		"a silent host lacks it":      {hosts: knownHosts{has, silent}},
		"a host of another provider":  {hosts: knownHosts{has, docker}},
		"only silent hosts: the last": {hosts: knownHosts{last, silent}},
		"no credential":               {hosts: knownHosts{has}, login: login(task.CodeNotFound), missing: []string{"omoi credentials set anthropic."}},
		"neither":                     {hosts: knownHosts{lacks}, login: login(task.CodeNotFound), missing: []string{noProgram(1, 1), "There is no key."}},
		"the image brings it":         {hosts: knownHosts{lacks}, provider: task.ProviderDocker},
		"credential of git only":      {hosts: knownHosts{has}, execution: gitOnly, missing: []string{"execution_config.credentials names no credential for claude. Next: "}},
		"the task's own key":          {hosts: knownHosts{has}, execution: ownKey},
	} {
		if c.provider == "" {
			c.provider = task.ProviderLocal
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := runtimes{c.hosts, c.login}.AgentRuntimes(t.Context(), task.Work{Provider: c.provider, Execution: c.execution})
			require.NoError(t, err)
			require.Len(t, found, len(agentRuntimes()))
			require.Equal(t, task.AgentClaude, found[0].Agent)
			require.Len(t, found[0].Missing, len(c.missing))
			for i, part := range c.missing {
				require.Contains(t, found[0].Missing[i], part)
				require.NotContains(t, found[0].Missing[i], "lacks", "hosts are named to admins only")
			}
		})
	}
	_, err := runtimes{knownHosts{has}, login(task.CodeInvalid)}.AgentRuntimes(t.Context(), task.Work{})
	require.Error(t, err, "a credential that cannot be read is not a missing one")
}

// keyed has an OpenAI key, and maybe a model for it.
type keyed struct{ model string }

func (k keyed) ForTask(context.Context, task.Work) (map[string]string, error) {
	return map[string]string{"OPENAI_API_KEY": "x", "OPENAI_MODEL": k.model}, nil
}

// TestAgentRuntime_NeedsAModel checks that agents without a default model are refused without the name of one.
func TestAgentRuntime_NeedsAModel(t *testing.T) {
	t.Parallel()
	missing := func(agent, model string, env map[string]string) []string {
		work := task.Work{Agent: agent, Provider: task.ProviderDocker, Execution: task.Execution{Env: env}}
		found, err := runtimes{knownHosts{}, keyed{model}}.AgentRuntimes(t.Context(), work)
		require.NoError(t, err)
		require.Len(t, found, 1)
		return found[0].Missing
	}
	for agent, needs := range map[string]bool{"qwen": true, "opencode": true, "copilot": true, "codex": false} {
		if lacks := missing(agent, "", nil); needs {
			require.Len(t, lacks, 1, agent)
			require.Contains(t, lacks[0], "no model is named. Next: omoi credentials set open")
		} else {
			require.Empty(t, lacks, agent)
		}
		require.Empty(t, missing(agent, "m", nil), agent)
		require.Empty(t, missing(agent, "", map[string]string{"MODEL": "m"}), agent)
	}
}

// withClaude returns a configuration with a program that prints this version, below a folder with this mode.
func withClaude(t *testing.T, says string, mode os.FileMode, environ ...string) *config.Loaded {
	t.Helper()
	cfg := fresh(t, append(environ, "OMOI_API_PORT=1")...) // no API answers there
	dir := filepath.Join(filepath.Dir(cfg.Home), "programs")
	require.NoError(t, os.Mkdir(dir, 0o700))
	cfg.Claude.Bin = filepath.Join(dir, "claude")
	require.NoError(t, os.WriteFile(cfg.Claude.Bin, []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755))
	require.NoError(t, os.Chmod(dir, mode))
	return cfg
}

func TestDoctor_TellsWhetherSandboxesSeeTheAgentProgram(t *testing.T) {
	t.Parallel()
	const key = "ANTHROPIC_API_KEY=sk-ant-api03-planted"
	works := checkRuntimes(t.Context(), withClaude(t, "2.1.328 (Claude Code)", 0o755, key), "")
	require.Equal(t, FindingOK, works[0].Status, works[0].Detail)
	require.Equal(t, "agent claude", works[0].Check)
	require.Contains(t, works[0].Detail, "version 2.1.328, readable by sandboxes; credential: anthropic of the configuration")
	require.NotContains(t, works[0].Detail, "planted")
	require.Len(t, works, 1, "only a running API knows the default agent")

	none := checkRuntimes(t.Context(), withClaude(t, "2.1.328", 0o755), "")
	require.Equal(t, FindingWarn, none[0].Status)
	require.Contains(t, none[0].Detail, "; no credential configured, and no API lists stored ones")
	require.Equal(t, "while omoi runs: omoi credentials set anthropic", none[0].Next)

	broken := checkRuntimes(t.Context(), withClaude(t, "1.0.0", 0o755, key), "")
	require.Equal(t, FindingWarn, broken[0].Status)
	require.Contains(t, broken[0].Next, "npm install")

	elsewhere := fresh(t, key, "OMOI_CLAUDE_BIN=/nonexistent/claude", "OMOI_API_PORT=1")
	wrong := checkRuntimes(t.Context(), elsewhere, "")
	require.Equal(t, FindingWarn, wrong[0].Status)
	require.Equal(t, claude.Install+", set OMOI_CLAUDE_BIN=/usr/local/bin/claude, then restart omoi", wrong[0].Next)
}

func TestDoctor_NamesTheFolderThatHidesTheAgentProgram(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only sandboxes of root have users of their own")
	}
	cfg := withClaude(t, "2.1.328", 0o700, "ANTHROPIC_API_KEY=sk-ant-api03-planted")
	found := checkRuntimes(t.Context(), cfg, "")
	require.Equal(t, FindingWarn, found[0].Status)
	require.Contains(t, found[0].Detail, "version 2.1.328; sandboxes cannot read "+cfg.Claude.Bin)
	require.Contains(t, found[0].Detail, filepath.Dir(cfg.Claude.Bin)+" is closed to these")
	require.Contains(t, found[0].Next, "set OMOI_CLAUDE_BIN=/usr/local/bin/claude, then restart omoi")
	_, err := agentRuntimes()[0].runnable(cfg)
	require.Error(t, err, "a worker does not offer it")
}

// served returns an API that answers the given paths only.
func served(t *testing.T, answers map[string]any) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusForbidden)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestDoctor_TakesStoredCredentialsFromTheAPI(t *testing.T) {
	t.Parallel()
	listed := client.Page[client.Credential]{Items: []client.Credential{
		{Kind: credential.ClaudeOAuth, Scope: credential.ScopeProject, State: credential.StateValid},
		{Kind: credential.ClaudeOAuth, Scope: credential.ScopeUser, State: credential.StateUndecryptable},
		{Kind: credential.Anthropic, Scope: credential.ScopeUser, State: credential.StateValid},
	}}
	api := served(t, map[string]any{"/api/v1/credentials": listed})
	found := checkRuntimes(t.Context(), withClaude(t, "2.1.328", 0o755), api)
	require.Equal(t, FindingOK, found[0].Status, found[0].Detail)
	require.Contains(t, found[0].Detail, "credential: anthropic of the user")
}

func TestDoctor_NamesTheDefaultAgentOfTheAPI(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]Finding{
		"claude": {Check: "default agent", Status: FindingOK, Detail: "claude, by the running API"},
		"": {
			Check: "default agent", Status: FindingWarn, Detail: "none: no agent runtime is known to work in local sandboxes",
			Next: "install an agent and set its credential as said above, or name the agent in each task, for example --agent scripted",
		},
	} {
		api := served(t, map[string]any{"/api/v1/info": client.Info{DefaultAgent: agent}})
		found := checkRuntimes(t.Context(), withClaude(t, "2.1.328", 0o755, "OMOI_TASK_PROVIDER=local"), api)
		require.Equal(t, want, found[1])
	}
}

// runtimeOf returns the row of an agent, whose program prints a version in answer to initialize.
func runtimeOf(t *testing.T, agent, version string) agentRuntime {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	text := "#!/bin/sh\nread -r said; echo '{\"id\":1,\"result\":{\"agentInfo\":{\"version\":\"" + version + "\"}}}'\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	all := agentRuntimes()
	r := all[slices.IndexFunc(all, func(r agentRuntime) bool { return r.agent == agent })]
	r.find = func(*config.Loaded) string { return path }
	return r
}

func TestDoctor_ChecksTheProgramOfACodingAgent(t *testing.T) {
	t.Parallel()
	visible := fresh(t, "OMOI_SANDBOX_ISOLATION=none")
	old := runtimeOf(t, "gemini", "0.1.0").check(t.Context(), visible)
	require.Equal(t, FindingWarn, old.Status)
	require.Contains(t, old.Detail, "older than 0.61.0")
	require.Equal(t, "npm install --prefix /usr/local -g @google/gemini-cli@0.61.0, then restart omoi", old.Next)

	_, err := runtimeOf(t, "gemini", "0.61.0").runnable(fresh(t))
	require.ErrorContains(t, err, "below /usr only")
	found := runtimeOf(t, "gemini", "0.61.0").check(t.Context(), fresh(t))
	require.Equal(t, FindingWarn, found.Status)
	require.Contains(t, found.Detail, "version 0.61.0; sandboxes cannot read the files of")
	stored := []client.Credential{{Kind: "google", Scope: credential.ScopeUser, State: credential.StateValid}}
	runtimeOf(t, "gemini", "0.61.0").checkCredential(&found, visible, stored, nil)
	require.Contains(t, found.Detail, "; credential: google of the user")
}
