package e2e_test

import (
	"context"
	"maps"
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

// notRun names the sh blocks of the documents that no rig runs, by how they begin, with the reason.
var notRun = map[string]string{
	"make ":          "CI runs the target: TestDocuments_MakeTargets",
	"omoi dev\n":     "the rig is the running installation",
	"bin/omoi dev\n": "likewise",
}

// TestDocuments_CommandsRun runs the sh blocks of each page in their order against an installation of its own, as a
// reader does who works in one terminal and has a repository ~/src/app.
func TestDocuments_CommandsRun(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for page, blocks := range shellBlocks(t) {
		var run []string
		for _, block := range blocks {
			if begins := notRunAs(block); begins != "" {
				used[begins] = true
			} else {
				run = append(run, block)
			}
		}
		if len(run) > 0 {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				newPageReader(t, page).runs(run)
			})
		}
	}
	for begins := range notRun {
		require.True(t, used[begins], "no document has a block that begins with %q", begins)
	}
}

func notRunAs(block string) string {
	for begins := range notRun {
		if strings.HasPrefix(block, begins) {
			return begins
		}
	}
	return ""
}

// pageReader is a rig with the shell of a person who reads a page.
type pageReader struct {
	*rig

	state string // what one block leaves to the next: functions, variables, the folder
}

func newPageReader(t *testing.T, page string) *pageReader {
	t.Helper()
	settings := map[string]string{"GIT_AUTHOR_NAME": "me", "GIT_AUTHOR_EMAIL": "me@example.com", "GIT_COMMITTER_NAME": "me", "GIT_COMMITTER_EMAIL": "me@example.com"}
	if page == "docs/GITHUB.md" {
		_, _, hub := newHub(t)
		maps.Copy(settings, hub)
	}
	r := &pageReader{rig: newRig(t, settings).up()}
	temporal, err := devstack.FindTemporal("")
	require.NoError(t, err)
	r.env["PATH"] = bin + ":" + filepath.Dir(temporal) + ":" + r.env["PATH"]
	r.env["TEMPORAL_ADDRESS"] = r.stack.Info().TemporalAddress
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", r.app()}, {"-C", r.app(), "commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		require.Zero(t, r.run("git", args...).code)
	}
	checkout := filepath.Join(r.dir, "checkout")
	require.NoError(t, os.Mkdir(checkout, 0o755))
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(docs, filepath.Join(checkout, "docs")))
	require.NoError(t, os.Symlink(bin, filepath.Join(checkout, "bin")))
	r.state = filepath.Join(r.dir, "state.sh")
	require.NoError(t, os.WriteFile(r.state, []byte("cd "+checkout+"\n"), 0o600))
	return r
}

func (r *pageReader) app() string { return filepath.Join(r.env["HOME"], "src", "app") }

// runs executes the blocks of a page. Every task that they created ends, and no sandbox is left.
func (r *pageReader) runs(blocks []string) {
	r.t.Helper()
	for _, block := range blocks {
		r.shell(block)
		r.settled(block)
	}
	r.eventually("every task has ended", func() bool {
		return r.count(`SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled')`) == 0
	})
	r.noLeaks()
}

// shell runs one block where the one before stopped.
func (r *pageReader) shell(block string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	const keep = `{ declare -f; declare -p TASK SANDBOX API; echo cd "$PWD"; } >"$STATE.new" 2>/dev/null || true; mv "$STATE.new" "$STATE"`
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", "set -a; . \"$STATE\"; "+block+"\n"+keep)
	cmd.Env, cmd.Dir = append(environ(r.env), "STATE="+r.state), r.dir
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s\n%s", block, out)
}

// settled waits for what a block asked for, as a person would look before going on.
func (r *pageReader) settled(block string) {
	r.t.Helper()
	last := func(ok func(task.Task) bool) func() bool {
		return func() bool {
			var id string
			err := r.pool.QueryRow(context.Background(), `SELECT id FROM tasks ORDER BY id DESC LIMIT 1`).Scan(&id)
			return err == nil && ok(r.task(id))
		}
	}
	switch {
	case strings.Contains(block, "workflow reset"), strings.HasPrefix(block, "omoi retry $TASK"):
		r.eventually("the task runs again", last(func(t task.Task) bool { return t.Status == task.StatusRunning }))
	case strings.Contains(block, "--name command"), strings.Contains(block, "workflow cancel"):
		r.eventually("the task is cancelled", last(func(t task.Task) bool { return t.Status == task.StatusCancelled }))
	case strings.Contains(block, "workflow terminate"):
		r.eventually("the task is written off", last(func(t task.Task) bool { return t.FailureClass == task.ClassTerminated }))
	}
}

// shellBlocks returns the sh blocks of README.md and of all pages below docs, by page.
func shellBlocks(t *testing.T) map[string][]string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	require.NoError(t, err)
	found := map[string][]string{}
	for _, path := range append(pages, filepath.Join("..", "..", "README.md")) {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		page, err := filepath.Rel(filepath.Join("..", ".."), path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
			found[page] = append(found[page], m[1])
		}
	}
	require.Greater(t, len(found["README.md"]), 2)
	return found
}

// TestDocuments_MakeTargets holds the make commands of the documents to what .ci/run runs.
func TestDocuments_MakeTargets(t *testing.T) {
	t.Parallel()
	ci, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	require.NoError(t, err)
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	for page, blocks := range shellBlocks(t) {
		for line := range strings.Lines(strings.Join(blocks, "")) {
			target, ok := strings.CutPrefix(strings.TrimSpace(line), "make ")
			if !ok {
				continue
			}
			require.Regexp(t, `(?m)^`+target+`:`, string(makefile))
			run := strings.Contains(string(ci), "make "+target+"\n") || regexp.MustCompile(`(?m)^test-all:.*\b`+target+`\b`).Match(makefile)
			require.True(t, run, "%s: CI does not run make %s", page, target)
		}
	}
}
