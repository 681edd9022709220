package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// point is a resume point, as a history shows it.
type point struct {
	Stopped bool                   `json:"stopped"`
	Work    *agentconfig.Collected `json:"work"`
}

func committed() agentconfig.Collected {
	return agentconfig.Collected{Repo: true, Head: "c2", Commits: 2, Bundle: agentconfig.OutBundle}
}

func TestCollectWorkBringsCommitsToTheBranch(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"exec collect", "read " + agentconfig.OutBundle, "push", "save_head"} {
		b := newBench(t)
		b.running()
		b.collects(committed())
		b.provider.loseAnswerOf(lost)
		b.git.loseAnswerOf(lost)
		b.store.loseAnswerOf(lost)
		app, _ := refused(t, act(b, b.activities().CollectWork, b.ref()))
		require.False(t, app.NonRetryable(), lost)
		out, err := do[contract.Collected](b, b.activities().CollectWork, b.ref())
		require.NoError(t, err, lost)
		require.Equal(t, contract.Collected{Head: "work", Commits: 2}, out, "the head is what the repository says, not the sandbox")
		require.Equal(t, "work", b.git.heads["feature/tick-1"])
		require.Equal(t, map[int]string{1: "work"}, b.store.heads)
	}
}

func TestCollectWork_ResumesAfterGathering(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(committed())
	b.git.loseAnswerOf("push")
	points := heartbeats[point](b)
	require.Error(t, act(b, b.activities().CollectWork, b.ref()))
	last := points()[len(points())-1]
	require.Equal(t, 2, last.Work.Commits)

	env := b.env()
	env.SetHeartbeatDetails(last)
	_, err := execute[contract.Collected](env, b.activities().CollectWork, b.ref())
	require.NoError(t, err)
	require.Equal(t, 1, b.provider.count("exec collect"))
}

func TestCollectWork_DivergedBranchFailsPublish(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(committed())
	b.git.pushErr = task.Errorf(task.CodeConflict, "The branch has moved on.")
	app, details := refused(t, act(b, b.activities().CollectWork, b.ref()))
	require.True(t, app.NonRetryable())
	require.Equal(t, string(task.ClassPublish), app.Type())
	require.Equal(t, task.CodeConflict, details.Code)
}

func TestCollectWork_RefusesABundleAboveTheLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.MaxBundleBytes = 3
	b.running()
	b.collects(committed())
	app, _ := refused(t, act(b, b.activities().CollectWork, b.ref()))
	require.True(t, app.NonRetryable())
	require.Equal(t, string(task.ClassPublish), app.Type())
	require.Empty(t, b.git.heads, "nothing half-made")
}

func TestCollectWork_AcceptsABundleOfTheLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.MaxBundleBytes = int64(len("work"))
	b.running()
	b.collects(committed())
	require.NoError(t, act(b, b.activities().CollectWork, b.ref()))
	require.Equal(t, "work", b.git.heads["feature/tick-1"])
}

func TestCollectWork_WithoutCommits(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*bench){
		"no repository":     func(b *bench) { b.store.work.Repo = "" },
		"outside agent":     func(b *bench) { b.store.work.Agent = task.AgentExternal },
		"no machine":        func(b *bench) { b.provider.caps = sandbox.Capabilities{} },
		"nothing committed": func(b *bench) { b.collects(agentconfig.Collected{Repo: true, Head: "base0"}) },
		"only uncommitted": func(b *bench) {
			b.collects(agentconfig.Collected{Repo: true, Rescue: "c9", Bundle: agentconfig.OutBundle, Files: 1})
		},
	} {
		b := newBench(t)
		b.running()
		arrange(b)
		out, err := do[contract.Collected](b, b.activities().CollectWork, b.ref())
		require.NoError(t, err, name)
		require.Zero(t, out, name)
		require.Empty(t, b.git.heads, name)
	}
}

// TestCollectWork_ClaimWithoutCommit judges an agent that posts a passed validation by its branch.
func TestCollectWork_ClaimWithoutCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(*bench)
		refused bool
	}{
		"no commit":                   {func(*bench) {}, true},
		"outside, no commit":          {func(b *bench) { b.store.work.Agent = task.AgentExternal }, true},
		"no machine, no commit":       {func(b *bench) { b.provider.caps = sandbox.Capabilities{} }, true},
		"no commit, changes optional": {func(b *bench) { b.requires(task.EnvRequireChanges, "false") }, false},
		"outside, changes optional":   {func(b *bench) { b.store.work.Agent = task.AgentExternal; b.requires(task.EnvRequireChanges, "false") }, false},
		"uncommitted files, optional": {func(b *bench) {
			b.requires(task.EnvRequireChanges, "false")
			b.collects(agentconfig.Collected{Repo: true, Files: 1, Rescue: "c9"})
		}, true},
		"no push required":            {func(b *bench) { b.requires("REQUIRE_CODE_PUSHED", "false") }, false},
		"outside, no push required":   {func(b *bench) { b.store.work.Agent = task.AgentExternal; b.requires("REQUIRE_CODE_PUSHED", "false") }, false},
		"outside, a commit":           {func(b *bench) { b.store.work.Agent, b.git.ahead = task.AgentExternal, 1 }, false},
		"a commit":                    {func(b *bench) { b.collects(committed()) }, false},
		"exploration":                 {func(b *bench) { b.store.work.Mode = task.ModeExploration }, false},
		"outside, without repository": {func(b *bench) { b.store.work.Agent, b.store.work.Repo = task.AgentExternal, "" }, false},
		"script":                      {func(b *bench) { b.store.work.Agent = task.AgentScripted }, false},
		"another end than a claim":    {func(b *bench) { b.claims = false }, false},
		"outside, single run":         {func(b *bench) { b.store.work.Agent, b.claims, b.completes = task.AgentExternal, false, true }, false},
		"single run":                  {func(b *bench) { b.claims, b.completes = false, true }, false},
		"outside, empty run":          {func(b *bench) { b.emptyRun(); b.store.work.Agent = task.AgentExternal }, true},
		"empty run":                   {(*bench).emptyRun, true},
		"empty run, a commit":         {func(b *bench) { b.emptyRun(); b.collects(committed()) }, false},
		"empty run, exploration":      {func(b *bench) { b.emptyRun(); b.store.work.Mode = task.ModeExploration }, false},
		"empty run, changes optional": {func(b *bench) { b.emptyRun(); b.requires(task.EnvRequireChanges, "false") }, false},
		"empty run, outside, changes optional": {func(b *bench) {
			b.emptyRun()
			b.store.work.Agent = task.AgentExternal
			b.requires(task.EnvRequireChanges, "false")
		}, false},
		"empty run, no push required": {func(b *bench) { b.emptyRun(); b.requires("REQUIRE_CODE_PUSHED", "false") }, false},
		"empty run, script":           {func(b *bench) { b.emptyRun(); b.store.work.Agent = task.AgentScripted }, false},
		"another end than a report":   {func(b *bench) { b.emptyRun(); b.completes = false }, false},
	} {
		b := newBench(t)
		b.running()
		b.claims, b.git.ahead, b.store.work.Agent = true, 0, task.AgentCommand
		b.collects(agentconfig.Collected{Repo: true, Head: "base0"})
		c.arrange(b)
		in := b.ref()
		in.Claimed, in.Completed = b.claims, b.completes
		err := act(b, b.activities().CollectWork, in)
		if !c.refused {
			require.NoError(t, err, name)
			continue
		}
		app, details := refused(t, err)
		require.True(t, app.NonRetryable(), name)
		require.Equal(t, string(task.ClassAgentError), app.Type(), name)
		require.Equal(t, task.Reason{Code: task.ReasonNoCommit}, details.EndReason, name)
		require.Contains(t, app.Message(), "has no commit of this task", name)
	}
}

// emptyRun makes the agent report completion in single-run mode, and no work.
func (b *bench) emptyRun() { b.claims, b.completes, b.store.emptyRun = false, true, true }

// TestCollectWork_GitHostDownIsNoVerdict keeps the work of an agent whose branch cannot be read.
func TestCollectWork_GitHostDownIsNoVerdict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.store.work.Agent, b.git.aheadErr = task.AgentExternal, task.Errorf(task.CodeUnavailable, "The git host is down.")
	in := b.ref()
	in.Claimed = true
	app, _ := refused(t, act(b, b.activities().CollectWork, in))
	require.False(t, app.NonRetryable())
	require.Equal(t, string(task.ClassPublish), app.Type())
}

// A publish that fails afterwards is tried again without a new attempt.
func TestCollectWork_UnchangedBranchHoldsTheWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.store.work.Base = "base0"
	b.collects(agentconfig.Collected{Repo: true, Head: "base0"})
	require.NoError(t, act(b, b.activities().CollectWork, b.ref()))
	require.Equal(t, map[int]string{1: "base0"}, b.store.heads)
}

func TestCollectWork_CommitsWithoutBundleFailPublish(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(agentconfig.Collected{Repo: true, Head: "c2", Commits: 2, Notes: []string{"No bundle could be made: disk full"}})
	app, _ := refused(t, act(b, b.activities().CollectWork, b.ref()))
	require.True(t, app.NonRetryable())
	require.Equal(t, string(task.ClassPublish), app.Type())
	require.Contains(t, app.Message(), "disk full")
	require.Empty(t, b.store.heads)
}

func TestCollectWork_FailedGatheringIsInfrastructure(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]sandbox.ExecResult{
		"exit code": {ExitCode: 1, Stderr: []byte("fatal: ghp_0123456789abcdef")},
		"babble":    {Stdout: []byte("not json")},
	} {
		b := newBench(t)
		b.running()
		b.provider.onExec = func(*box, []string) (sandbox.ExecResult, error) { return answer, nil }
		app, _ := refused(t, act(b, b.activities().CollectWork, b.ref()))
		require.Equal(t, string(task.ClassInfrastructure), app.Type(), name)
		require.NotContains(t, app.Message(), "ghp_")
	}
}

func TestCollectWork_RecordsACleanWorkspaceForSalvage(t *testing.T) {
	t.Parallel()
	untouched := agentconfig.Collected{Repo: true}
	dirty, unread := committed(), committed()
	dirty.Files, dirty.Rescue = 1, "c3"
	unread.Notes = []string{"One file was left out."}
	for name, c := range map[string]struct {
		got   agentconfig.Collected
		alive bool
		saved bool
	}{
		"all is on the branch":        {got: committed(), saved: true},
		"nothing was done":            {got: untouched, saved: true},
		"the agent may go on":         {got: committed(), alive: true},
		"something is not committed":  {got: dirty},
		"something could not be read": {got: unread},
	} {
		b := newBench(t)
		b.running()
		if !c.alive {
			require.NoError(t, act(b, b.activities().StopAgent, b.ref()))
		}
		b.collects(c.got)
		require.NoError(t, act(b, b.activities().CollectWork, b.ref()), name)
		require.Equal(t, c.saved, b.store.rows[boxID].Salvage != nil, name)
	}
}
