package app

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The finding on agents' rights is correct for root, for another user, and with bubblewrap disabled.
func TestJudgeIsolation(t *testing.T) {
	t.Parallel()
	bubblewrap, root, user := []string{"bubblewrap", "no-nested-userns", "seccomp"}, []string{"none", "uid"}, []string{"none"}
	auto, off := fresh(t), fresh(t, "OMOI_SANDBOX_ISOLATION=none")
	noNetwork := fresh(t, "OMOI_SANDBOX_NETWORK=none")

	require.Equal(t, Finding{Check: "isolation", Status: FindingOK, Detail: "bubblewrap, no-nested-userns, seccomp"}, judgeIsolation(auto, bubblewrap))
	require.Equal(t, FindingOK, judgeIsolation(noNetwork, bubblewrap).Status)

	found := judgeIsolation(auto, []string{"bubblewrap", "no-nested-userns"})
	require.Equal(t, FindingWarn, found.Status)
	require.Contains(t, found.Next, "system calls are not filtered")
	found = judgeIsolation(auto, user)
	require.Equal(t, FindingWarn, found.Status)
	require.Contains(t, found.Next, "does not work here: agents run with your own rights")
	found = judgeIsolation(auto, root)
	require.Contains(t, found.Next, "run as separate users")
	require.NotContains(t, found.Next, "your own rights")
	found = judgeIsolation(off, user)
	require.Equal(t, FindingWarn, found.Status)
	require.Contains(t, found.Next, "sandbox.isolation switches bubblewrap off: agents run with your own rights")
	require.NotContains(t, found.Next, "does not work")
	require.Contains(t, judgeIsolation(off, root).Next, "run as separate users")

	found = judgeIsolation(noNetwork, root)
	require.Equal(t, FindingFail, found.Status, "every task would fail")
	require.Contains(t, found.Next, "sandbox.network")
}

// A full disk prevents the test of bubblewrap. That is a temporary fault, not missing isolation.
func TestDoctor_FullDiskIsNotMissingIsolation(t *testing.T) {
	t.Parallel()
	found := walls(fresh(t), []string{"none"}, "bwrap: write /x: no space left on device")
	require.Equal(t, FindingWarn, found.Status)
	require.Contains(t, found.Detail, "no space left on device")
	require.NotContains(t, found.Next, "sandbox.isolation")
	require.Contains(t, found.Next, "free disk space")
	require.Contains(t, walls(fresh(t), []string{"none"}, "no user namespaces").Next, "set sandbox.isolation to require")
}

func TestJudgeLimits(t *testing.T) {
	t.Parallel()
	require.Equal(t, Finding{Check: "sandbox limits", Status: FindingOK, Detail: "memory, CPU, processes, disk (watched)"},
		judgeLimits([]string{"cgroup-pids", "cgroup-memory", "cgroup-cpu", "disk-watch"}))
	found := judgeLimits([]string{"bubblewrap", "cgroup-cpu", "disk-watch"})
	require.Equal(t, FindingWarn, found.Status)
	require.Contains(t, found.Detail, "no limit on memory, processes")
	require.Contains(t, judgeLimits([]string{"rlimit-processes", "disk-watch"}).Detail, "no limit on memory, CPU")
}

// The next step is to correct the configured setting.
func TestCheckup_NamesInvalidSetting(t *testing.T) {
	t.Parallel()
	cfg := fresh(t, "OMOI_DEV_TEMPORAL_BIN=/nope", "OMOI_DEV_POSTGRES_BIN=/nope", "OMOI_AGENT_BINARY=/nope")
	for setting, found := range map[string]Finding{
		"dev.temporal_bin": checkTemporalProgram(cfg), "dev.postgres_bin": checkPostgresPrograms(cfg), "agent.binary": checkAgent(cfg),
	} {
		require.Equal(t, FindingFail, found.Status, setting)
		require.Contains(t, found.Next, "correct or unset "+setting)
	}
	require.Equal(t, FindingOK, checkPostgresPrograms(fresh(t, "OMOI_DEV_POSTGRES_BIN=download")).Status)
}

// The finding names the folder, not the temporary file.
func TestCheckHome_NamesFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux has a folder in which not even root writes")
	}
	cfg := fresh(t)
	cfg.Home, cfg.Sandbox.Dir = "/proc/none", "/proc/none"
	for _, found := range append(checkIsolation(cfg), checkHome(cfg)) {
		require.NotContains(t, found.Detail, "/.")
		if found.Check != "bubblewrap" {
			require.Equal(t, FindingFail, found.Status)
			require.Contains(t, found.Detail, "cannot write to /proc")
		}
	}
}
