package agent

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestAfterCall_LetsAToolCallEnd(t *testing.T) {
	t.Parallel()
	s := &session{cfg: agentconfig.Config{Dir: t.TempDir(), Grace: time.Hour}, doing: &reporter.Activity{}}
	over := s.doing.Tool("Bash")
	stopped := func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		later, release := s.afterCall(ctx)
		cancel()
		return later, release
	}
	later, release := stopped()
	defer release()
	<-later.Done() // nobody asked to wait

	require.NoError(t, os.WriteFile(filepath.Join(s.cfg.Dir, "after-call"), nil, 0o600))
	later, release = stopped()
	defer release()
	require.NoError(t, later.Err())
	over()
	<-later.Done()

	s.cfg.Grace = 100 * time.Millisecond
	defer s.doing.Tool("Bash")()
	later, release = stopped()
	defer release()
	<-later.Done() // the call does not end
}

func TestPrepare_ARestartKnowsOfAnUnfinishedWorkspace(t *testing.T) {
	t.Parallel()
	seed, dir := t.TempDir(), t.TempDir()
	bundle := filepath.Join(seed, "in.bundle")
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=task", "."},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "--message=base"},
		{"bundle", "create", "--quiet", bundle, "task"},
	} {
		_, err := gitcmd.Git{Dir: seed}.Run(t.Context(), args...)
		require.NoError(t, err)
	}
	prepared := func(setup string) (marks, error) {
		cfg := withDefaults(agentconfig.Config{
			Dir: dir, Workspace: filepath.Join(dir, "work"), APIURL: "http://localhost", Restore: &agentconfig.Restore{},
			Repo: &agentconfig.Repo{Branch: "task", Bundle: bundle}, Setup: setup,
		})
		s, done, err := open(cfg, Deps{Procs: &proc.Runner{}, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer done()
		s.marks = &marks{path: filepath.Join(dir, "run.json"), Restores: "1.1"}
		_ = statefile.Load(s.marks.path, s.marks)
		s.restore = &checkpoints.Restorer{} // of nothing, so that it fails after the setup step
		err = s.prepare(t.Context())
		saved := marks{}
		require.True(t, statefile.Load(s.marks.path, &saved))
		return saved, err
	}
	saved, err := prepared("mv " + bundle + " " + bundle + ".gone; rm -rf " + dir + "/origin.git")
	require.ErrorContains(t, err, "find the repository's bundle", "at the second checkout")
	require.Equal(t, []bool{false, false}, []bool{saved.Restored, saved.SetUp})
	require.NoError(t, os.Rename(bundle+".gone", bundle))
	saved, err = prepared("true")
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, []bool{saved.Restored, saved.SetUp})
}

func TestPrepare_AnOutageIsNoReasonToStartFromTheBranch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel() // as the end of the wait
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	missing := [][]checkpoint.Checkpoint{{{ID: "1.1", Attempt: 1, Number: 1, Sealed: checkpoint.Sealed{PackBytes: 9}}}}
	s, done, err := open(withDefaults(agentconfig.Config{
		Dir: dir, Workspace: filepath.Join(dir, "work"), APIURL: server.URL, Restore: &agentconfig.Restore{Segments: missing},
	}), Deps{Procs: &proc.Runner{}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer done()
	s.marks = &marks{path: filepath.Join(dir, "run.json")}
	s.chooseSession()
	err = s.prepare(ctx)
	require.ErrorIs(t, err, checkpoints.ErrUnavailable)
	require.Equal(t, task.ClassInfrastructure, ClassOf(err))
	require.Equal(t, []any{"1.1", false}, []any{s.marks.Restores, s.marks.Restored}, "a restart tries again")
}
