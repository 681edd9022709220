package activities_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestCollectWork_ClaimAfterTheMerge lets the branch be merged before the agent says that it is done: it is judged by the commit with
// which the task began.
func TestCollectWork_ClaimAfterTheMerge(t *testing.T) {
	t.Parallel()
	for _, merge := range [][]string{nil, {"merge", "--quiet", "--ff-only", "work"}, {"merge", "--quiet", "--no-ff", "-m", "Merge", "work"}} {
		g := &ground{bench: newBench(t), repo: filepath.Join(t.TempDir(), "repo")}
		g.running()
		g.makeRepo()
		work := &g.store.work
		work.Agent, work.Repo, work.Branch, work.Base = task.AgentExternal, g.repo, "work", g.git("rev-parse", "HEAD")
		g.git("branch", "work")
		if merge != nil {
			g.git("switch", "--quiet", "work")
			g.git("commit", "--quiet", "--allow-empty", "-m", "The work")
			g.git("switch", "--quiet", "main")
			g.git(merge...)
		}
		err := g.claims()
		if merge != nil {
			require.NoError(t, err, merge)
			continue
		}
		app, _ := refused(t, err)
		require.Contains(t, app.Message(), "has no commit of this task")
	}
}

// claims collects the work of an agent outside that reports a passed validation.
func (g *ground) claims() error {
	acts := activities.New(g.bench.cfg, activities.Deps{
		Tasks: g.store, Ledger: g.store, Texts: g.store, Fleet: g.store, Reconciler: g.store, Runs: g.runs, Tokens: tokens{},
		Git: gits{localgit.New(localgit.Config{})}, Providers: providers{task.ProviderLocal: g.bench.provider},
	})
	in := g.ref()
	in.Claimed = true
	return act(g.bench, acts.CollectWork, in)
}

// TestCollectWork_ClaimWithEarlierCommits has a branch with commits from before the task, as that of an imported task.
func TestCollectWork_ClaimWithEarlierCommits(t *testing.T) {
	t.Parallel()
	g := &ground{bench: newBench(t), repo: filepath.Join(t.TempDir(), "repo")}
	g.running()
	g.makeRepo()
	g.git("switch", "--quiet", "-c", "work")
	g.git("commit", "--quiet", "--allow-empty", "-m", "Of OmoiOS")
	work := &g.store.work
	work.Agent, work.Repo, work.Branch, work.Base = task.AgentExternal, g.repo, "work", g.git("rev-parse", "HEAD")
	app, _ := refused(t, g.claims())
	require.Contains(t, app.Message(), "has no commit of this task")
	g.git("commit", "--quiet", "--allow-empty", "-m", "The work")
	require.NoError(t, g.claims())
}
