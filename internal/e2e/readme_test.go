package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// notHere are README blocks that something else runs: .ci/run, and the rig itself.
func notHere(block string) bool {
	return strings.HasPrefix(block, "make ") || strings.TrimSpace(block) == "omoi dev"
}

// TestReadme runs every block of shell commands of the README in their order, against a
// running installation, as a person would who has ~/src/app.
func TestReadme(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	app := filepath.Join(r.env["HOME"], "src", "app")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", app},
		{"-C", app, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		require.Zero(t, r.run("git", args...).code)
	}
	temporal, err := devstack.FindTemporal("")
	require.NoError(t, err)
	r.env["PATH"] = bin + ":" + filepath.Dir(temporal) + ":" + r.env["PATH"]
	r.env["TEMPORAL_ADDRESS"] = r.stack.Info().TemporalAddress
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	require.NoError(t, err)
	checkout := filepath.Join(r.dir, "checkout")
	require.NoError(t, os.Mkdir(checkout, 0o755))
	require.NoError(t, os.Symlink(docs, filepath.Join(checkout, "docs")))
	require.NoError(t, os.Symlink(bin, filepath.Join(checkout, "bin")))
	state := filepath.Join(r.dir, "state.sh")
	require.NoError(t, os.WriteFile(state, nil, 0o600))
	for _, block := range shellBlocks(t) {
		if !notHere(block) {
			r.shell(block, state)
			r.settled(block)
		}
	}
	require.Equal(t, "Hello from omoi.\n", r.run("cat", filepath.Join(app, "HELLO.md")).stdout, "checkout brought the work")
	r.eventually("every task has ended", func() bool {
		return r.count(`SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled')`) == 0
	})
	r.noLeaks()
}

// shell runs one block in what looks like the project's root, with the programs under test; variables live on to the next block.
func (r *rig) shell(block, state string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", "set -a; . "+state+"; "+block+"\ndeclare -p TASK > "+state+" 2>/dev/null || true")
	cmd.Env, cmd.Dir = environ(r.env), filepath.Join(r.dir, "checkout")
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s\n%s", block, out)
}

// settled waits for what a block asked for, as a person would look before going on.
func (r *rig) settled(block string) {
	r.t.Helper()
	last := func(ok func(task.Task) bool) func() bool {
		return func() bool {
			var id string
			err := r.pool.QueryRow(context.Background(), `SELECT id FROM tasks ORDER BY id DESC LIMIT 1`).Scan(&id)
			return err == nil && ok(r.task(id))
		}
	}
	switch {
	case strings.Contains(block, "workflow reset"), strings.HasPrefix(block, "omoi retry"):
		r.eventually("the task runs again", last(func(t task.Task) bool { return t.Status == task.StatusRunning }))
	case strings.Contains(block, "--name command"), strings.Contains(block, "workflow cancel"):
		r.eventually("the task is cancelled", last(func(t task.Task) bool { return t.Status == task.StatusCancelled }))
	case strings.Contains(block, "workflow terminate"):
		r.eventually("the task is written off", last(func(t task.Task) bool { return t.FailureClass == task.ClassTerminated }))
	}
}

func shellBlocks(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		blocks = append(blocks, m[1])
	}
	require.Greater(t, len(blocks), 5)
	return blocks
}

// TestReadmeMakeTargets holds the README's make commands to what .ci/run runs.
func TestReadmeMakeTargets(t *testing.T) {
	t.Parallel()
	ci, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	require.NoError(t, err)
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	for _, block := range shellBlocks(t) {
		for line := range strings.Lines(block) {
			target, ok := strings.CutPrefix(strings.TrimSpace(line), "make ")
			if !ok {
				continue
			}
			require.Regexp(t, `(?m)^`+target+`:`, string(makefile))
			run := strings.Contains(string(ci), "make "+target+"\n") || regexp.MustCompile(`(?m)^test-all:.*\b`+target+`\b`).Match(makefile)
			require.True(t, run, "CI does not run make %s", target)
		}
	}
}
