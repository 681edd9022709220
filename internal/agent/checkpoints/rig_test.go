package checkpoints_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/event"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// agentOf is an agent that does nothing.
type agentOf struct {
	calls, sent int64
	running     string
	call        string // that has completed
	results     map[string]int64
	events      []map[string]any
	failures    []any // reasons
}

func (a *agentOf) Calls() (int64, string)     { return a.calls, a.running }
func (a *agentOf) Completed() string          { return cmp.Or(a.call, "call") }
func (a *agentOf) Send(context.Context) error { return nil }
func (a *agentOf) through(_ context.Context, call string) int64 {
	if a.results != nil {
		a.sent += 1000 // lines that came later
	}
	return a.results[call]
}
func (a *agentOf) Sent() (string, int64)       { return "run", a.sent }
func (a *agentOf) Flush(context.Context) error { return nil }
func (a *agentOf) Emit(kind string, data map[string]any) {
	if kind == event.AgentCheckpointFailed {
		a.failures = append(a.failures, data["reason"])
		return
	}
	a.events = append(a.events, data)
}

// rig is a workspace that was cloned from an origin, and a keeper of its checkpoints.
type rig struct {
	t      *testing.T
	server *agenttest.Server
	line   *apiclient.Client
	agent  *agentOf
	origin string // bare repository
	work   string
	dir    string
	format string
	moved  string // branch of the next attempt; empty: the same
}

const branch = "task"

func newRig(t *testing.T, format string) *rig {
	t.Helper()
	r := &rig{t: t, server: agenttest.New(t), agent: &agentOf{}, dir: t.TempDir(), format: format}
	line, err := apiclient.New(apiclient.Config{APIURL: r.server.URL, SandboxID: "box"})
	require.NoError(t, err)
	t.Cleanup(line.Close)
	r.line = line
	if format != "" {
		r.origin = filepath.Join(t.TempDir(), "origin.git")
		seed := t.TempDir()
		r.git(seed, "init", "-q", "-b", branch, "--object-format="+format, ".")
		r.put(seed, "kept.txt", "kept\n")
		r.put(seed, "changed.txt", "one\n")
		r.put(seed, "deleted.txt", "gone soon\n")
		r.put(seed, "sub/deep.txt", "deep\n")
		r.put(seed, ".gitignore", "*.log\n")
		r.git(seed, "add", ".")
		r.git(seed, "commit", "-qm", "base")
		r.git(seed, "clone", "-q", "--bare", seed, r.origin)
	}
	r.work = r.clone()
	return r
}

// clone returns a new workspace, as of the next attempt.
func (r *rig) clone() string {
	r.t.Helper()
	work := filepath.Join(r.t.TempDir(), "work")
	if r.origin == "" {
		require.NoError(r.t, os.MkdirAll(work, 0o755))
		return work
	}
	r.git("/", "clone", "-q", "-b", cmp.Or(r.moved, branch), r.origin, work)
	return work
}

func (r *rig) open() *checkpoints.Keeper {
	r.t.Helper()
	return r.openWith(checkpoints.Config{})
}

func (r *rig) openWith(cfg checkpoints.Config) *checkpoints.Keeper {
	r.t.Helper()
	cfg.Dir, cfg.Work, cfg.Line, cfg.Log = r.dir, r.work, r.line, slog.New(slog.DiscardHandler)
	cfg.Report, cfg.Transcript, cfg.Doing, cfg.Through = r.agent, r.agent, r.agent, r.agent.through
	k, err := checkpoints.Open(r.t.Context(), cfg)
	require.NoError(r.t, err)
	return k
}

func (r *rig) keep(k *checkpoints.Keeper) {
	r.t.Helper()
	require.NoError(r.t, k.Keep(r.t.Context()))
}

// restored returns a new workspace with the newest checkpoint.
func (r *rig) restored() (work string, from *checkpoints.Restorer) {
	r.t.Helper()
	return r.restoredFrom(math.MaxInt)
}

// restoredFrom returns a new workspace with the newest checkpoint up to a number.
func (r *rig) restoredFrom(number int) (work string, from *checkpoints.Restorer) {
	r.t.Helper()
	work, dir := r.clone(), r.t.TempDir()
	var until [][]checkpoint.Checkpoint
	for _, segment := range r.server.Segments() {
		if segment[0].Number > number {
			continue
		}
		end := slices.IndexFunc(segment, func(c checkpoint.Checkpoint) bool { return c.Number > number })
		if end < 0 {
			end = len(segment)
		}
		until = append(until, segment[:end])
	}
	from, err := checkpoints.Fetch(r.t.Context(), r.line, dir, until)
	require.NoError(r.t, err)
	if r.moved != "" {
		from.Former = []string{"older", branch}
	}
	require.NoError(r.t, from.Commits(r.t.Context(), dir, work, r.branch()))
	require.NoError(r.t, from.Files(r.t.Context(), dir, work))
	return work, from
}

func (r *rig) branch() string {
	if r.origin == "" {
		return ""
	}
	return cmp.Or(r.moved, branch)
}

func (r *rig) git(dir string, args ...string) string {
	r.t.Helper()
	cmd := r.command(args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// command returns a git command in the workspace.
func (r *rig) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "GIT_EDITOR=true")
	return cmd
}

func (r *rig) put(dir, name, content string) {
	r.t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(content), 0o644))
}

// digest lists paths, kinds, executable bits, link targets and bytes of a workspace, without .git and ignored files.
func digest(t *testing.T, work string) []string {
	t.Helper()
	var lines []string
	require.NoError(t, filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(work, path)
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git" && entry.IsDir():
			return filepath.SkipDir
		case entry.Name() == ".git": // of a work tree
			return nil
		case entry.IsDir() || strings.HasSuffix(name, ".log"):
			return nil
		case entry.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			lines = append(lines, fmt.Sprintf("%q -> %q", name, to))
			return err
		}
		info, err := entry.Info()
		require.NoError(t, err)
		content, err := os.ReadFile(path)
		lines = append(lines, fmt.Sprintf("%q %v %q", name, info.Mode()&0o100 != 0, content))
		return err
	}))
	return lines
}

// random is content that does not compress.
func random(rng *rand.Rand, size int) string {
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	return string(content)
}

// looseBytes returns the size of the objects that checkpoints left.
func (r *rig) looseBytes() (size int64) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "checkpoint.git/objects/??/*"))
	require.NoError(r.t, err)
	for _, path := range files {
		info, err := os.Stat(path)
		require.NoError(r.t, err)
		size += info.Size()
	}
	return size
}
