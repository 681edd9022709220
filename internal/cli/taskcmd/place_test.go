package taskcmd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

// Every form of --repo leads to one path in the request.
func TestRun_FormsOfRepo(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	app, bare := filepath.Join(home, "src", "my app"), filepath.Join(home, "bare.git")
	sub := filepath.Join(app, "deep", "er")
	require.NoError(t, os.MkdirAll(sub, 0o750))
	git(t, "", "init", "--quiet", app)
	git(t, "", "init", "--quiet", "--bare", bare)
	for _, c := range []struct{ dir, repo, want string }{
		{app, ".", app},
		{sub, ".", app},
		{sub, "../..", app},
		{app, "deep", app},
		{home, "src/my app", app},
		{home, "bare.git", bare},
		{home, "~/src/my app", app},
		{"/", "~/src/my app/deep", app},
		{"/", sub, sub},
		{home, "src", filepath.Join(home, "src")},
		{home, "someone/something", "someone/something"},
		{home, "https://host/app", "https://host/app"},
		{sub, "", app},
	} {
		f := newFake(t)
		f.tasks = []client.Task{aTask(idA, task.StatusPending)}
		args := []string{"run", "x"}
		if c.repo != "" {
			args = append(args, "--repo="+c.repo)
		}
		got := f.with(call{dir: c.dir, env: map[string]string{"HOME": home}}, args...)
		require.Zero(t, got.code, got.err)
		require.Equal(t, c.want, f.created[0].Repo, "%s in %s", c.repo, c.dir)
	}
}

func TestRun_WithoutARepository(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for repo, want := range map[string]string{
		"nope": "Invalid --repo nope: folder", "./nope": "Invalid --repo ./nope: folder", "file": "file: this is a file",
		"~/nope": "Invalid --repo ~/nope: folder", "~other/app": "Invalid --repo ~other/app: folder", "": "--repo is empty",
	} {
		got := f.with(call{dir: dir, env: map[string]string{"HOME": dir}}, "run", "x", "--repo="+repo)
		require.Equal(t, exit.Usage, got.code, repo)
		require.Contains(t, got.err, want)
		require.NotContains(t, got.err, "owner/name")
	}
	require.Empty(t, f.created)
}

// An invalid command line is the first error, before any other output.
func TestRun_ChecksTheCommandLineFirst(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	dir := t.TempDir()
	git(t, dir, "init", "--quiet")
	for want, args := range map[string][]string{
		"Invalid --wait-timeout 0s: must be above 0":                  {"--wait", "--wait-timeout", "0"},
		"Invalid --wait-timeout -5s: must be above 0":                 {"--wait", "--wait-timeout", "-5s"},
		"--script needs the agent scripted, and --agent is command: ": {"--script", "example:hello", "--agent", "command"},
		"--deadline is empty":                                         {"--deadline", ""},
		"--project is empty":                                          {"--project", ""},
	} {
		got := f.with(call{dir: dir}, append([]string{"run", "x"}, args...)...)
		require.Equal(t, exit.Usage, got.code, want)
		require.Contains(t, got.err, "omoi: "+want)
		require.Empty(t, got.out)
	}
	require.Empty(t, f.created)
	require.Contains(t, f.omoi("run", "--help").out, "owner/name of one on GitHub")
}
