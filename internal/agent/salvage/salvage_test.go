package salvage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/salvage"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
)

const branch = "feature/x-1"

// place is a hosting repository, and a sandbox with a workspace from its bundle.
type place struct {
	t    *testing.T
	host string
	dir  string
	work string
	base string
	cfg  salvage.Config
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return newPlaceAt(t, "ws")
}

func newPlaceAt(t *testing.T, workspaceName string) *place {
	t.Helper()
	p := &place{t: t, host: t.TempDir(), dir: t.TempDir(), work: filepath.Join(t.TempDir(), workspaceName)}
	p.in(p.host, "init", "-q", "-b", "main")
	p.file(p.host, "README", "hello\n")
	p.in(p.host, "add", "-A")
	p.in(p.host, "commit", "-qm", "first")
	p.in(p.host, "branch", branch)
	p.in(p.host, "bundle", "create", "-q", filepath.Join(p.dir, "in.bundle"), branch, "main")
	p.base = p.in(p.host, "rev-parse", "HEAD")
	repo := &agentconfig.Repo{Branch: branch, Base: p.base, Bundle: filepath.Join(p.dir, "in.bundle"), AuthorName: "An \"Agent\"", AuthorEmail: "a@example.invalid"}
	err := workspace.Prepare(t.Context(), p.dir, p.work, repo)
	require.NoError(t, err)
	p.cfg = salvage.Config{Dir: p.dir, Workspace: p.work, Repo: repo}
	return p
}

func (p *place) in(dir string, args ...string) string {
	p.t.Helper()
	out, err := git(p.t, dir, args...)
	require.NoError(p.t, err, out)
	return out
}

func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_EDITOR=true")
	if dir != "" && !strings.Contains(dir, "ws") {
		cmd.Env = append(cmd.Env, "GIT_AUTHOR_NAME=h", "GIT_AUTHOR_EMAIL=h@b", "GIT_COMMITTER_NAME=h", "GIT_COMMITTER_EMAIL=h@b")
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (p *place) file(dir, name, content string) {
	p.t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p.t, os.WriteFile(path, []byte(content), 0o644))
}

func (p *place) commit(name string) string {
	p.t.Helper()
	p.file(p.work, name, name+"\n")
	p.in(p.work, "add", "-A")
	p.in(p.work, "commit", "-qm", name)
	return p.in(p.work, "rev-parse", "HEAD")
}

func (p *place) collect() agentconfig.Collected {
	p.t.Helper()
	got, err := p.try()
	require.NoError(p.t, err)
	return got
}

func (p *place) try() (agentconfig.Collected, error) {
	return salvage.Collect(p.t.Context(), p.cfg)
}

// land pushes the bundle to the host, as omoi does from outside of a sandbox.
func (p *place) land(got agentconfig.Collected) {
	p.t.Helper()
	require.NotEmpty(p.t, got.Bundle)
	p.in(p.host, "fetch", "-q", got.Bundle, "+refs/*:refs/landed/*")
	p.in(p.host, "fsck", "--strict", "--no-dangling")
}

func (p *place) landed(ref, path string) string {
	p.t.Helper()
	return p.in(p.host, "show", "refs/landed/"+ref+":"+path)
}

func TestCollect_NothingNew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.Equal(t, agentconfig.Collected{Repo: true, Head: p.base}, p.collect())
}

func TestCollect_CommitsAndUncommittedFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	head := p.commit("work")
	require.Equal(t, "An Agent <a@example.invalid>", strings.ReplaceAll(p.in(p.work, "log", "-1", "--format=%an <%ae>"), `"`, ""))
	p.file(p.work, "README", "changed\n")
	p.file(p.work, "new\nname", "x\n")
	p.file(p.work, "blob", "a\x00b")
	p.file(p.work, ".gitignore", "*.log\n")
	p.file(p.work, "noise.log", "ignored")
	status := p.in(p.work, "status", "--porcelain=v2", "-z")
	got := p.collect()
	require.Equal(t, status, p.in(p.work, "status", "--porcelain=v2", "-z"), "the workspace is as it was")
	require.Equal(t, head, got.Head)
	require.Equal(t, 1, got.Commits)
	require.Equal(t, 4, got.Files)
	require.EqualValues(t, 8+2+3+6, got.Bytes)
	require.Empty(t, got.Notes)
	require.Equal(t, got, p.collect(), "the same work gives the same answer")
	p.land(got)
	require.Equal(t, head, p.in(p.host, "rev-parse", "refs/landed/heads/"+branch))
	require.Equal(t, "changed", p.landed("omoi/rescue", "README"))
	require.Equal(t, "x", p.landed("omoi/rescue", "new\nname"))
	require.Equal(t, head, p.in(p.host, "rev-parse", "refs/landed/omoi/rescue^"))
	_, err := git(t, p.host, "cat-file", "-e", "refs/landed/omoi/rescue:noise.log")
	require.Error(t, err)
}

func TestCollect_PathWithALineBreak(t *testing.T) {
	t.Parallel()
	p := newPlaceAt(t, "ws\nof an agent")
	head := p.commit("done.txt")
	p.file(p.work, "open.txt", "open\n")
	got := p.collect()
	require.Equal(t, head, got.Head)
	p.land(got)
	require.Empty(t, got.Notes)
	require.Equal(t, "done.txt", p.landed("heads/"+branch, "done.txt"))
	require.Equal(t, "open", p.landed("omoi/rescue", "open.txt"))
}

func TestCollect_Deletion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.Remove(filepath.Join(p.work, "README")))
	got := p.collect()
	require.Equal(t, 1, got.Files)
	require.Zero(t, got.Bytes)
	p.land(got)
	_, err := git(t, p.host, "cat-file", "-e", "refs/landed/omoi/rescue:README")
	require.Error(t, err)
}

func TestCollect_DetachedHead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit("one")
	p.in(p.work, "checkout", "-q", "--detach")
	head := p.commit("two")
	got := p.collect()
	require.Equal(t, head, got.Head)
	require.Equal(t, 2, got.Commits)
	require.Empty(t, got.Rescue)
	p.land(got)
	require.Equal(t, head, p.in(p.host, "rev-parse", "refs/landed/heads/"+branch))
}

func TestCollect_OtherBranchOnTop(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.in(p.work, "checkout", "-q", "-b", "my-own")
	head := p.commit("two")
	p.in(p.work, "branch", "-D", branch)
	got := p.collect()
	require.Equal(t, head, got.Head)
	require.Equal(t, 1, got.Commits)
}

func TestCollect_DivergedHead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tip := p.commit("on the branch")
	p.in(p.work, "checkout", "-q", "--detach", p.base)
	other := p.commit("elsewhere")
	p.file(p.work, "dirty", "d\n")
	got := p.collect()
	require.Equal(t, tip, got.Head)
	p.land(got)
	require.Equal(t, other, p.in(p.host, "rev-parse", "refs/landed/omoi/rescue^1"))
	require.Equal(t, "d", p.landed("omoi/rescue", "dirty"))
}

func TestCollect_StashesAndOtherBranches(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.in(p.work, "checkout", "-q", "-b", "side")
	side := p.commit("side")
	p.in(p.work, "checkout", "-q", branch)
	p.file(p.work, "README", "stashed\n")
	p.in(p.work, "stash")
	stash := p.in(p.work, "rev-parse", "stash@{0}")
	got := p.collect()
	require.NotEmpty(t, got.Rescue)
	p.land(got)
	p.in(p.host, "merge-base", "--is-ancestor", side, "refs/landed/omoi/rescue")
	p.in(p.host, "merge-base", "--is-ancestor", stash, "refs/landed/omoi/rescue")
}

func TestCollect_AfterInterruptedMerge(t *testing.T) {
	t.Parallel()
	cases := map[string]func(p *place){
		"a lock of the index": func(p *place) { p.file(p.work, ".git/index.lock", "") },
		"a lock of the head":  func(p *place) { p.file(p.work, ".git/HEAD.lock", "") },
		"a broken index":      func(p *place) { p.file(p.work, ".git/index", "rubbish") },
		"a merge with conflicts": func(p *place) {
			p.in(p.work, "checkout", "-q", "-b", "theirs", p.base)
			p.file(p.work, "README", "theirs\n")
			p.in(p.work, "commit", "-qam", "theirs")
			p.in(p.work, "checkout", "-q", branch)
			p.file(p.work, "README", "ours\n")
			p.in(p.work, "commit", "-qam", "ours")
			_, err := git(p.t, p.work, "merge", "theirs")
			require.Error(p.t, err)
		},
		"a rebase": func(p *place) {
			p.in(p.work, "checkout", "-q", "-b", "theirs", p.base)
			p.file(p.work, "README", "theirs\n")
			p.in(p.work, "commit", "-qam", "theirs")
			p.in(p.work, "checkout", "-q", branch)
			p.file(p.work, "README", "ours\n")
			p.in(p.work, "commit", "-qam", "ours")
			_, err := git(p.t, p.work, "rebase", "theirs")
			require.Error(p.t, err)
		},
		"hooks and settings of the agent": func(p *place) {
			for _, s := range [][2]string{
				{"core.fsmonitor", "touch planted; false"},
				{"core.hooksPath", "hooks"},
				{"filter.x.clean", "touch planted; false"},
				{"filter.x.required", "true"},
				{"diff.external", "touch planted; false"},
				{"core.pager", "touch planted"},
				{"commit.gpgSign", "true"},
				{"gpg.program", "touch planted; false"},
				{"core.worktree", "/nonexistent"},
				{"core.excludesFile", "/dev/full"},
			} {
				p.in(p.work, "config", s[0], s[1])
			}
			p.file(p.work, ".gitattributes", "* filter=x diff=x\n")
		},
	}
	for name, happen := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			head := p.commit("work")
			happen(p)
			p.file(p.work, "last", "words\n")
			got := p.collect()
			require.Positive(t, got.Commits)
			p.land(got)
			require.Equal(t, "words", p.landed("omoi/rescue", "last"))
			p.in(p.host, "merge-base", "--is-ancestor", head, "refs/landed/heads/"+branch)
			require.NoFileExists(t, filepath.Join(p.work, "planted"))
		})
	}
}

func TestCollect_NoCommit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.cfg.Repo = &agentconfig.Repo{Branch: branch}
	p.cfg.Dir = t.TempDir()
	p.cfg.Workspace = filepath.Join(t.TempDir(), "ws")
	require.NoError(t, os.Mkdir(p.cfg.Workspace, 0o755))
	p.in(p.cfg.Workspace, "init", "-q", "-b", branch)
	require.Equal(t, agentconfig.Collected{Repo: true}, p.collect())
	p.file(p.cfg.Workspace, "a", "1\n")
	got := p.collect()
	require.Empty(t, got.Head)
	require.Equal(t, 1, got.Files)
	p.land(got)
	require.Equal(t, "1", p.landed("omoi/rescue", "a"))
}

func TestCollect_NoRepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.cfg.Repo = nil
	p.cfg.Workspace = filepath.Join(t.TempDir(), "ws")
	require.NoError(t, os.Mkdir(p.cfg.Workspace, 0o755))
	require.Equal(t, agentconfig.Collected{}, p.collect())
	p.file(p.cfg.Workspace, "dir/a", "1\n")
	p.file(p.cfg.Workspace, "blob", "a\x00b")
	got := p.collect()
	require.False(t, got.Repo)
	require.Equal(t, 2, got.Files)
	require.Empty(t, got.Bundle)
	target := filepath.Join(t.TempDir(), "ws")
	require.NoError(t, os.Mkdir(target, 0o755))
	p.in(target, "init", "-q")
	p.in(target, "apply", got.Patch)
	b, err := os.ReadFile(filepath.Join(target, "blob"))
	require.NoError(t, err)
	require.Equal(t, "a\x00b", string(b))
}

// attributed returns files that .gitattributes changes in a commit.
func attributed() map[string]string {
	return map[string]string{
		".gitattributes": "*.txt text\n*.u16 working-tree-encoding=UTF-16LE-BOM\n*.c ident\n*.lfs filter=x\n",
		"crlf.txt":       "one\r\ntwo\r\n",
		"wide.u16":       "\xff\xfeh\x00i\x00\n\x00",
		"id.c":           "// $Id: 1234 $\n",
		"large.lfs":      "large\n",
	}
}

func TestCollect_NoRepositoryKeepsBytes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.cfg.Repo = nil
	p.cfg.Workspace = filepath.Join(t.TempDir(), "ws")
	for name, content := range attributed() {
		p.file(p.cfg.Workspace, name, content)
	}
	got := p.collect()
	require.Empty(t, got.Notes)
	target := t.TempDir()
	p.in(target, "init", "-q")
	p.in(target, "apply", got.Patch)
	for name, content := range attributed() {
		b, err := os.ReadFile(filepath.Join(target, name))
		require.NoError(t, err)
		require.Equal(t, content, string(b), name)
	}
}

func TestRescue_AppliesAttributesWithoutFilters(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, driver := range []string{"clean", "smudge", "process"} {
		p.in(p.work, "config", "filter.x."+driver, "touch "+filepath.Join(p.work, "planted")+"; false")
	}
	p.in(p.work, "config", "filter.x.required", "true")
	for name, content := range attributed() {
		p.file(p.work, name, content)
	}
	p.land(p.collect())
	require.NoFileExists(t, filepath.Join(p.work, "planted"))
	for name, content := range map[string]string{"crlf.txt": "one\ntwo", "wide.u16": "hi", "id.c": "// $Id$", "large.lfs": "large"} {
		require.Equal(t, content, p.landed("omoi/rescue", name), name)
	}
}

func TestCollect_HugeFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.cfg.Caps = gitcmd.Caps{FileBytes: 1000}
	p.file(p.work, "huge", strings.Repeat("x", 2000))
	p.file(p.work, "small", "s\n")
	got := p.collect()
	require.Equal(t, 1, got.Files)
	require.Len(t, got.Notes, 1)
	require.Contains(t, got.Notes[0], "huge")
	p.land(got)
	require.Equal(t, "s", p.landed("omoi/rescue", "small"))
}

func TestCollect_UnknownBase(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	head := p.commit("work")
	repo := *p.cfg.Repo
	repo.Base = strings.Repeat("1", 40)
	p.cfg.Repo = &repo
	got := p.collect()
	require.Equal(t, head, got.Head)
	require.Equal(t, 2, got.Commits)
	fresh := t.TempDir()
	p.in(fresh, "init", "-q", "--bare")
	p.in(fresh, "fetch", "-q", got.Bundle, "refs/heads/"+branch)
}

func TestPrepare_AfterRestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	head := p.commit("work")
	p.file(p.work, "dirty", "d\n")
	err := workspace.Prepare(t.Context(), p.dir, p.work, p.cfg.Repo)
	require.NoError(t, err)
	require.Equal(t, head, p.in(p.work, "rev-parse", "HEAD"))
	require.FileExists(t, filepath.Join(p.work, "dirty"))
	p.in(p.work, "push", "-q", "origin", "HEAD")
	require.Equal(t, head, p.in(filepath.Join(p.dir, workspace.OriginName), "rev-parse", "refs/heads/"+branch))
}

func TestPrepare_AfterInterruptedStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	work := filepath.Join(t.TempDir(), "ws")
	require.NoError(t, os.MkdirAll(filepath.Join(p.dir, "origin.git.half"), 0o755))
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir, workspace.OriginName)))
	p.in(filepath.Dir(work), "init", "-q", "-b", branch, work)
	p.file(work, ".git/index.lock", "")
	err := workspace.Prepare(t.Context(), p.dir, work, p.cfg.Repo)
	require.NoError(t, err)
	require.Equal(t, p.base, p.in(work, "rev-parse", "HEAD"))
	require.FileExists(t, filepath.Join(work, "README"))
}

func TestPrepare_MissingBundle(t *testing.T) {
	t.Parallel()
	err := workspace.Prepare(t.Context(), t.TempDir(), t.TempDir(), &agentconfig.Repo{Branch: "x", Bundle: "/nonexistent"})
	require.ErrorContains(t, err, "bundle")
}
