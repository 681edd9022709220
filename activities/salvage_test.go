package activities_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const rescueRef = "refs/omoi/rescue/" + taskID + "/1"

func dirty() agentconfig.Collected {
	return agentconfig.Collected{Repo: true, Head: "base0", Bundle: agentconfig.OutBundle, Rescue: "c9", Files: 3, Bytes: 42}
}

func (b *bench) salvage() contract.SalvageResult {
	b.Helper()
	out, err := do[contract.SalvageResult](b, b.activities().Salvage, b.ref())
	require.NoError(b, err)
	return out
}

func TestSalvageKeepsUncommittedWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := b.running()
	b.collects(dirty())
	require.Equal(t, contract.SalvageResult{Kind: task.SalvageRef, Files: 3}, b.salvage())
	require.Equal(t, sandbox.StateGone, at.agent, "it is stopped before it is gathered")
	require.Equal(t, &task.Salvage{Kind: task.SalvageRef, Ref: rescueRef, Files: 3, Bytes: 42}, b.store.rows[boxID].Salvage)
	require.Empty(t, b.git.heads, "nothing was committed")
}

func TestSalvage_OfASuspendedTaskLetsAToolCallEnd(t *testing.T) {
	t.Parallel()
	for _, suspended := range []bool{true, false} {
		b := newBench(t)
		at := b.running()
		b.collects(dirty())
		b.store.work.Suspended = suspended
		b.salvage()
		require.Equal(t, suspended, at.files[agentconfig.AfterCall] != nil)
	}
}

func TestSalvage_OnceDespiteLostAnswers(t *testing.T) {
	t.Parallel()
	got := dirty()
	got.Commits = 1
	for _, lost := range []string{"inspect", "stop", "exec collect", "read " + agentconfig.OutBundle, "push", "rescue", "save_head", "save_salvage"} {
		b := newBench(t)
		b.running()
		b.collects(got)
		b.provider.loseAnswerOf(lost)
		b.git.loseAnswerOf(lost)
		b.store.loseAnswerOf(lost)
		app, _ := refused(t, act(b, b.activities().Salvage, b.ref()))
		require.False(t, app.NonRetryable(), lost)
		require.Equal(t, contract.SalvageResult{Kind: task.SalvageRef, Files: 3}, b.salvage(), lost)
		require.Len(t, b.git.rescued, 1, lost)
		require.Len(t, b.git.heads, 1, lost)
		calls := b.provider.count("exec collect")
		require.Equal(t, contract.SalvageResult{Kind: task.SalvageRef, Files: 3}, b.salvage(), "asked again: answered from the ledger")
		require.Equal(t, calls, b.provider.count("exec collect"))
	}
}

func TestSalvageResumes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(dirty())
	b.git.loseAnswerOf("rescue")
	points := heartbeats[point](b)
	require.Error(t, act(b, b.activities().Salvage, b.ref()))
	last := points()[len(points())-1]
	require.True(t, last.Stopped)
	require.Equal(t, "c9", last.Work.Rescue)

	env := b.env()
	env.SetHeartbeatDetails(last)
	_, err := execute[contract.SalvageResult](env, b.activities().Salvage, b.ref())
	require.NoError(t, err)
	require.Equal(t, 1, b.provider.count("exec collect"))
	require.Equal(t, 1, b.provider.count("stop"))
	require.Equal(t, rescueRef, b.store.rows[boxID].Salvage.Ref)
}

func TestSalvageBringsCommitsOfAFailedAttemptToTheBranch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(committed())
	require.Equal(t, task.SalvageNone, b.salvage().Kind, "all is on the branch")
	require.Equal(t, "work", b.git.heads["feature/tick-1"])
	require.Equal(t, map[int]string{1: "work"}, b.store.heads)
	require.Empty(t, b.git.rescued)
}

func TestSalvage_NeverMovesTheBranchOfALaterAttempt(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*bench){
		"later attempt": func(b *bench) { b.store.work.Attempt = 2 },
		"diverged":      func(b *bench) { b.git.pushErr = task.Errorf(task.CodeConflict, "moved") },
	} {
		b := newBench(t)
		b.running()
		b.collects(committed())
		arrange(b)
		require.Equal(t, task.SalvageRef, b.salvage().Kind, name)
		require.Empty(t, b.git.heads, name)
		require.Contains(t, b.git.rescued, taskID+"/1", name)
	}
}

func TestSalvageAsAPatch(t *testing.T) {
	t.Parallel()
	got := agentconfig.Collected{Repo: true, Files: 2, Bytes: 5, Patch: agentconfig.OutPatch}
	b := newBench(t)
	b.running()
	b.collects(got)
	require.Equal(t, contract.SalvageResult{Kind: task.SalvagePatch, Files: 2}, b.salvage())
	require.Equal(t, "patch:patch", b.store.texts[b.store.rows[boxID].Salvage.Ref])
}

func TestBinaryPatchIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := b.running()
	b.collects(agentconfig.Collected{Files: 1, Patch: agentconfig.OutPatch})
	collect := b.provider.onExec
	b.provider.onExec = func(in *box, args []string) (sandbox.ExecResult, error) {
		res, err := collect(in, args)
		at.files[agentconfig.OutPatch] = []byte("a\x00\xff")
		return res, err
	}
	b.salvage()
	kind, text, _ := strings.Cut(b.store.texts[b.store.rows[boxID].Salvage.Ref], ":")
	require.Equal(t, "patch_base64", kind)
	content, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	require.Equal(t, "a\x00\xff", string(content))
}

func TestSalvage_StoresWorkThatTheRepositoryRefuses(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*bench){
		"refused":   func(b *bench) { b.git.rescueErr = task.Invalid("bundle", "The bundle is damaged.") },
		"down long": func(b *bench) { b.git.rescueErr = errDown; b.cfg.SalvageWindow = time.Nanosecond },
	} {
		b := newBench(t)
		arrange(b)
		b.running()
		b.collects(dirty())
		require.Equal(t, contract.SalvageResult{Kind: task.SalvagePatch, Files: 3}, b.salvage(), name)
		text := b.store.texts[b.store.rows[boxID].Salvage.Ref]
		require.Equal(t, "bundle_base64:"+base64.StdEncoding.EncodeToString([]byte("work")), text, name)
	}
}

func TestSalvage_WaitsForAnUnreachableRepository(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(dirty())
	b.git.rescueErr = errDown
	app, _ := refused(t, act(b, b.activities().Salvage, b.ref()))
	require.False(t, app.NonRetryable())
	require.Nil(t, b.store.rows[boxID].Salvage)
	b.git.rescueErr = nil
	require.Equal(t, task.SalvageRef, b.salvage().Kind)
}

func TestSalvage_OfAnUnreachableSandbox(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.provider.down = errDown
	app, _ := refused(t, act(b, b.activities().Salvage, b.ref()))
	require.False(t, app.NonRetryable(), "unknown is not lost")
	require.Nil(t, b.store.rows[boxID].Salvage)
}

func TestSalvage_OfADeletedSandbox(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	delete(b.provider.boxes, boxID)
	b.store.pulse.Beat = time.Hour
	require.Equal(t, contract.SalvageResult{Kind: task.SalvageLost}, b.salvage())
	require.WithinDuration(t, time.Now().Add(-time.Hour), *b.store.rows[boxID].Salvage.LostSince, time.Minute)
}

func TestNothingToSalvage(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*bench){
		"never made":    func(b *bench) {},
		"never started": func(b *bench) { require.NoError(b, act(b, b.activities().EnsureSandbox, b.ref())) },
		"no machine":    func(b *bench) { b.running(); b.provider.caps = sandbox.Capabilities{} },
		"outside agent": func(b *bench) { b.store.work.Agent = task.AgentExternal; b.running() },
		"clean":         func(b *bench) { b.running(); b.collects(agentconfig.Collected{Repo: true, Head: "base0"}) },
	} {
		b := newBench(t)
		arrange(b)
		require.Equal(t, contract.SalvageResult{Kind: task.SalvageNone}, b.salvage(), name)
		require.Equal(t, task.SalvageNone, b.store.rows[boxID].Salvage.Kind, name)
	}
}

// What runs in a sandbox may have removed omoi's program from it, or put another in its place.
func TestSalvage_ReplacesADamagedProgram(t *testing.T) {
	t.Parallel()
	for name, spoilt := range map[string]sandbox.ExecResult{"removed": {ExitCode: 127}, "another": {Stdout: []byte("hello")}} {
		b := newBench(t)
		at := b.running()
		b.collects(dirty())
		collect := b.provider.onExec
		at.files[sandbox.AgentPath], at.files[agentconfig.ConfigPath] = []byte("spoilt"), []byte("spoilt")
		b.provider.onExec = func(in *box, args []string) (sandbox.ExecResult, error) {
			if string(in.files[sandbox.AgentPath]) == "spoilt" {
				return spoilt, nil
			}
			return collect(in, args)
		}
		require.Equal(t, contract.SalvageResult{Kind: task.SalvageRef, Files: 3}, b.salvage(), name)
		cfg := b.agentConfig()
		require.Empty(t, cfg.Token, name)
		require.Equal(t, "feature/tick-1", cfg.Repo.Branch, name)
		require.Equal(t, uint32(0o600), at.modes[agentconfig.ConfigPath], name)
	}
}

func TestSalvage_NamesWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	got := dirty()
	got.Notes = []string{"\"huge\" was left out: it has 9 bytes, more than 8", "token=abcdefghijkl " + strings.Repeat("x", 500)}
	for range 100 {
		got.Notes = append(got.Notes, "more")
	}
	b.collects(got)
	b.git.loseAnswerOf("rescue")
	points := heartbeats[point](b)
	require.Error(t, act(b, b.activities().Salvage, b.ref()))
	last := points()[len(points())-1]
	require.Len(t, last.Work.Notes, 25, "a heartbeat has bounds")
	require.Less(t, len(last.Work.Notes[1]), 300)
	b.salvage()
	notes := b.store.rows[boxID].Salvage.Notes
	require.Equal(t, got.Notes[0], notes[0])
	require.NotContains(t, notes[1], "abcdefghijkl")
	require.Len(t, notes, 25)
}
