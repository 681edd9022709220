package activities_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

func (b *bench) agentConfig() agentconfig.Config {
	b.Helper()
	var cfg agentconfig.Config
	require.NoError(b, json.Unmarshal(b.provider.boxes[boxID].files[agentconfig.ConfigPath], &cfg))
	return cfg
}

func TestStartAgent_PreparesAndStarts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Setup, b.store.work.SetupTimeout = "make deps", time.Minute
	b.store.work.Execution = task.Execution{Script: json.RawMessage(`{"steps":[]}`), Env: map[string]string{"FOO": "1", "TASK_ID": "x"}}
	b.store.work.Feedback = "do better"
	at := b.running()
	require.Equal(t, "program for riscv64", string(at.files[sandbox.AgentPath]))
	require.Equal(t, uint32(0o755), at.modes[sandbox.AgentPath])
	require.Contains(t, string(at.files[agentconfig.InBundle]), " refs/heads/feature/tick-1\n")
	require.Equal(t, strings.Repeat("a", 40), b.store.bundled)
	require.Equal(t, uint32(0o600), at.modes[agentconfig.ConfigPath])
	require.Equal(t, []string{sandbox.AgentPath, "run", "--config", agentconfig.ConfigPath}, at.started[0].Args)
	require.Empty(t, at.started[0].Env)
	require.NotNil(t, b.store.rows[boxID].StartedAt)

	cfg := b.agentConfig()
	require.Equal(t, "http://127.0.0.1:18000", cfg.APIURL)
	require.Equal(t, tokens{}.Mint(boxID), cfg.Token)
	require.Equal(t, "scripted", cfg.Runtime)
	require.JSONEq(t, `{"steps":[]}`, string(cfg.Script))
	require.Equal(t, "make deps", cfg.Setup)
	require.Equal(t, time.Minute, cfg.SetupTimeout)
	require.Equal(t, "do better", cfg.Feedback)
	require.Equal(t, 1, cfg.Attempt)
	require.Equal(t, 30*time.Second, cfg.Heartbeat)
	require.Equal(t, 30*time.Minute, cfg.ToolTimeout)
	require.Equal(t, &agentconfig.Repo{
		Branch: "feature/tick-1", Base: "base0", Bundle: agentconfig.InBundle, AuthorName: "omoi", AuthorEmail: "omoi@localhost",
	}, cfg.Repo)
	require.Equal(t, "1", cfg.Env["FOO"])
	require.Equal(t, taskID, cfg.Env["TASK_ID"], "who it is cannot be changed")
}

func TestStartAgent_OnceDespiteLostAnswers(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"write " + sandbox.AgentPath, "write " + agentconfig.InBundle, "write " + agentconfig.ConfigPath, "start", "agent_started"} {
		b := newBench(t)
		require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
		b.provider.loseAnswerOf(lost)
		b.store.loseAnswerOf(lost)
		app, _ := refused(t, act(b, b.activities().StartAgent, b.start()))
		require.False(t, app.NonRetryable(), lost)
		require.NoError(t, act(b, b.activities().StartAgent, b.start()), lost)
		require.Len(t, b.provider.boxes[boxID].started, 1, lost)
		require.NotNil(t, b.store.rows[boxID].StartedAt)
	}
}

func TestStartAgent_ResumesAfterAKill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
	env := b.env()
	env.SetHeartbeatDetails(2) // agent and repository are in
	_, err := execute[any](env, b.activities().StartAgent, b.start())
	require.NoError(t, err)
	at := b.provider.boxes[boxID]
	require.NotContains(t, at.files, sandbox.AgentPath)
	require.NotContains(t, at.files, agentconfig.InBundle)
	require.Contains(t, at.files, agentconfig.ConfigPath)
	require.Len(t, at.started, 1)
}

func TestStartAgent_HeartbeatsItsProgress(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
	b.provider.loseAnswerOf("write " + agentconfig.ConfigPath)
	points := heartbeats[int](b)
	require.Error(t, act(b, b.activities().StartAgent, b.start()))
	told := points()
	require.Equal(t, 2, told[len(told)-1], "program, repository")
	require.IsIncreasing(t, append([]int{-1}, slices.Compact(told)...), "never back")
}

func TestStartAgent_InADeletedSandbox(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	app, details := refused(t, act(b, b.activities().StartAgent, b.start()))
	require.True(t, app.NonRetryable())
	require.Equal(t, task.CodeGone, details.Code)
	require.Equal(t, string(task.ClassInfrastructure), app.Type())
	require.Empty(t, b.provider.boxes, "it is not made again behind the ledger's back")
}

func TestStartAgent_DoesNotStartAnExternalAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Agent = task.AgentExternal
	at := b.running()
	require.Empty(t, at.started)
	require.Empty(t, at.files)
	require.NotNil(t, b.store.rows[boxID].StartedAt)
}

func TestStartAgent_FailingBundle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
	b.git.bundleErr = task.Errorf(task.CodeUnavailable, "the git host is down")
	app, _ := refused(t, act(b, b.activities().StartAgent, b.start()))
	require.Contains(t, app.Message(), "the git host is down")
	require.Empty(t, b.provider.boxes[boxID].started)

	b.git.bundleErr = nil
	b.provider.onWrite = func(path string) error { // gives up without reading
		if path == agentconfig.InBundle {
			return task.Errorf(task.CodeExhausted, "the disk is full")
		}
		return nil
	}
	app, _ = refused(t, act(b, b.activities().StartAgent, b.start()))
	require.Contains(t, app.Message(), "the disk is full")
}

func TestLegacyWorker_CallbackURL(t *testing.T) {
	t.Parallel()
	token := tokens{}.Mint(boxID)
	for name, c := range map[string]struct {
		agent string
		open  bool
		want  string
	}{
		"closed server": {task.AgentCommand, false, "http://127.0.0.1:18000/t/" + token},
		"open server":   {task.AgentCommand, true, "http://127.0.0.1:18000"},
		"agent of ours": {task.AgentScripted, false, "http://127.0.0.1:18000"},
	} {
		b := newBench(t)
		b.cfg.Open = c.open
		b.store.work.Agent, b.store.work.Execution.Command = c.agent, []string{"python3", "worker.py"}
		b.running()
		cfg := b.agentConfig()
		require.Equal(t, c.want, cfg.Env["CALLBACK_URL"], name)
		require.Equal(t, c.want, cfg.Env["OMOIOS_API_URL"], name)
		_, key, _ := strings.Cut(c.want, "/t/")
		require.Equal(t, key, cfg.Env["OMOIOS_API_KEY"], name)
		require.Equal(t, []string{"python3", "worker.py"}, cfg.Command)
	}
}

func TestAPIURL_WithoutNetworkIsTheSocket(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Network = sandbox.NetworkNone
	b.running()
	require.Equal(t, "unix:///run/omoi/api.sock", b.agentConfig().APIURL)
}

func TestPaths_WithoutAnOwnFileSystem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.bare = true
	b.running()
	cfg := b.agentConfig()
	require.Equal(t, "/srv/box/omoi", cfg.Dir)
	require.Equal(t, "/srv/box/work", cfg.Workspace)
	require.Equal(t, "/srv/box/omoi/in.bundle", cfg.Repo.Bundle)
	require.Equal(t, "/srv/box/work", cfg.Env["WORKSPACE_PATH"])
}

// The environment is a documented contract with workers of the replaced system.
func TestWorkerEnvironment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg = activities.Config{HostID: "h1", APIURL: "http://api", Open: true, Secrets: []string{"platform-key"}}
	b.store.work.Agent, b.store.work.Continuous, b.store.work.Repo = task.AgentCommand, true, "acme/web"
	b.store.work.TicketTitle, b.store.work.PhaseID, b.store.work.Feedback = "Sums", "PHASE_IMPLEMENTATION", "tests fail"
	b.running()
	env := b.agentConfig().Env
	for name, want := range map[string]string{
		"AGENT_ID": boxID, "TASK_ID": taskID, "SANDBOX_ID": boxID, "PHASE_ID": "PHASE_IMPLEMENTATION",
		"EXECUTION_MODE": "implementation", "CALLBACK_URL": "http://api", "OMOIOS_API_URL": "http://api",
		"MCP_SERVER_URL": "http://api/mcp", "IS_SANDBOX": "1", "OMOIOS_PROJECT_ID": "proj", "CONTINUOUS_MODE": "true",
		"MAX_ITERATIONS": "10", "MAX_TOTAL_COST_USD": "20.0", "MAX_DURATION_SECONDS": "3600",
		"REQUIRE_CLEAN_GIT": "true", "REQUIRE_CODE_PUSHED": "true", "REQUIRE_PR_CREATED": "false",
		"TICKET_ID": "tick", "TICKET_TITLE": "Sums", "BRANCH_NAME": "feature/tick-1", "WORKSPACE_PATH": "/workspace",
		"GITHUB_REPO": "acme/web", "GITHUB_REPO_OWNER": "acme", "GITHUB_REPO_NAME": "web",
	} {
		require.Equal(t, want, env[name], name)
	}
	for name, value := range env {
		require.NotContains(t, value, "platform-key", name)
		require.False(t, strings.Contains(name, "TOKEN") || strings.Contains(name, "KEY"), name)
	}
	text, err := base64.StdEncoding.DecodeString(env["TASK_DATA_BASE64"])
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Equal(t, "Compute it", doc["task"].(map[string]any)["title"])
	require.Equal(t, b.store.work.Description, doc["task_description"])
	require.Equal(t, "tests fail", doc["revision"].(map[string]any)["feedback"])
	require.Contains(t, doc["_markdown_context"], "C(50,25)")
}

func TestStartAgent_NamesTheEarlierTranscript(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	require.Nil(t, b.agentConfig().Resume, "a first attempt has none")
	require.Equal(t, time.Minute, b.agentConfig().Transcript)

	b = newBench(t)
	row := b.store.rows[boxID]
	row.Attempt = 3
	b.store.rows[boxID] = row
	b.store.transcripts = map[int]transcript.Info{
		1: {RunID: "run-1", SessionID: "s1", Attempt: 1}, 2: {RunID: "run-2", SessionID: "s2", Attempt: 2}, 3: {RunID: "run-3"},
	}
	b.running()
	require.Equal(t, &agentconfig.Resume{RunID: "run-2", SessionID: "s2", Attempt: 2}, b.agentConfig().Resume)
}

func TestStopAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := b.running()
	b.provider.loseAnswerOf("stop")
	app, _ := refused(t, act(b, b.activities().StopAgent, b.ref()))
	require.False(t, app.NonRetryable())
	require.NoError(t, act(b, b.activities().StopAgent, b.ref()))
	require.Equal(t, sandbox.StateGone, at.agent)
	delete(b.provider.boxes, boxID)
	require.NoError(t, act(b, b.activities().StopAgent, b.ref()), "what is gone has stopped")
	b.provider.down = errDown
	require.Error(t, act(b, b.activities().StopAgent, b.ref()))
}

func TestStartAgent_NamesTheEarlierCheckpoints(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	require.Nil(t, b.agentConfig().Restore, "a first attempt has none")
	require.Equal(t, b.cfg.CheckpointInterval, b.agentConfig().Checkpoint)

	b = newBench(t)
	b.store.checkpoints = [][]checkpoint.Checkpoint{{{ID: "1.3"}, {ID: "1.4", Sealed: checkpoint.Sealed{RunID: "run-1"}}}}
	b.store.transcripts = map[int]transcript.Info{1: {RunID: "run-1", SessionID: "s1", Attempt: 1, CutBytes: 7}}
	b.running()
	want := &agentconfig.Restore{
		Segments: b.store.checkpoints, Session: &agentconfig.Resume{RunID: "run-1", SessionID: "s1", Attempt: 1}, CutBytes: 7,
	}
	require.Equal(t, want, b.agentConfig().Restore)
}

func TestStartAgent_ResumesTheSessionOfARewind(t *testing.T) {
	t.Parallel()
	session := &agentconfig.Resume{RunID: "run-1", SessionID: "s1", Attempt: 1}
	newer := &agentconfig.Resume{RunID: "run-2", SessionID: "s2", Attempt: 2}
	for name, c := range map[string]struct {
		rewound, length int
		resume, restore *agentconfig.Resume
	}{
		"no rewind":                        {0, 9, newer, session},
		"the session of the checkpoint":    {3, 9, nil, session},
		"the session was cut after it":     {3, 7, nil, nil},
		"the rewound attempt left its own": {2, 9, newer, session},
	} {
		b := newBench(t)
		row := b.store.rows[boxID]
		row.Attempt = 3
		b.store.rows[boxID] = row
		b.store.checkpoints, b.store.rewound = [][]checkpoint.Checkpoint{{{ID: "1.4", Sealed: checkpoint.Sealed{RunID: "run-1", Transcript: int64(c.length)}}}}, c.rewound
		b.store.transcripts = map[int]transcript.Info{
			1: {RunID: "run-1", SessionID: "s1", Attempt: 1, CutBytes: 7}, 2: {RunID: "run-2", SessionID: "s2", Attempt: 2},
		}
		b.running()
		require.Equal(t, c.resume, b.agentConfig().Resume, name)
		require.Equal(t, c.restore, b.agentConfig().Restore.Session, name)
	}
}
