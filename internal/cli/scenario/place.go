package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/task"
)

// projectName is the name of the project for checks without a repository. The project is kept.
const projectName = "omoi-check"

// project finds or creates the project of the checks, with automatic steering, which the guardian check needs.
func (k *kit) project(ctx context.Context) (string, error) {
	projects, err := taskcmd.AllProjects(k.API, ctx)
	if err != nil {
		return "", err
	}
	for _, p := range projects {
		if p.Name == projectName && p.Repo == "" {
			return k.usable(ctx, p)
		}
	}
	made, err := k.API.CreateProject(ctx, client.CreateProjectRequest{Name: projectName, Description: "Tasks of omoi check."})
	if err != nil {
		return "", err
	}
	return k.usable(ctx, made)
}

func (k *kit) usable(ctx context.Context, p client.Project) (string, error) {
	if p.Paused {
		return "", &stopError{verdict: Fail, text: "The project " + p.Name + " is paused: tasks of a check do not start.", next: "omoi project resume " + p.Name}
	}
	if p.AutoSteering != nil && *p.AutoSteering {
		return p.ID, nil
	}
	_, err := k.API.PatchProject(ctx, p.ID, client.UpdateProjectRequest{AutoSteering: client.Choose(true)})
	return p.ID, err
}

// repository is the repository of a check's tasks.
type repository struct {
	name string
	own  bool // created by the checks: branches and pull requests are removed
}

// place finds or creates the repository and its project.
func (k *kit) place(ctx context.Context) (string, error) {
	k.repo = &repository{name: k.Repo}
	project := client.CreateProjectRequest{Repo: k.Repo}
	if k.Repo == "" {
		k.repo = &repository{name: filepath.Join(k.Home, "checks", "remote.git"), own: true}
		project = client.CreateProjectRequest{Name: projectName + "-git", Description: "Tasks of omoi check.", Repo: k.repo.name}
		if err := makeRepository(ctx, k.repo.name); err != nil {
			return "", err
		}
	}
	_, err := k.API.CreateProject(ctx, project)
	if task.CodeOf(err) == task.CodeConflict { // the project exists
		err = nil
	}
	return "The repository is " + k.repo.name + ".", k.refused(err)
}

// makeRepository creates a bare repository with one commit, unless path exists. The rename at the end makes the
// creation atomic.
func makeRepository(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("create the folder of the repository: %w", err)
	}
	draft, err := os.MkdirTemp(filepath.Dir(path), "draft-")
	if err != nil {
		return fmt.Errorf("create the folder of the repository: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }()
	bare := filepath.Join(draft, "remote.git")
	if _, err := git(ctx, "init", "--quiet", "--bare", "--initial-branch=main", bare); err != nil {
		return err
	}
	tree, err := git(ctx, "-C", bare, "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		return err
	}
	commit, err := git(ctx, "-C", bare, "commit-tree", "-m", "Begin", tree)
	if err != nil {
		return err
	}
	if _, err = git(ctx, "-C", bare, "update-ref", "refs/heads/main", commit); err != nil {
		return err
	}
	if err := os.Rename(bare, path); err != nil && !errors.Is(err, fs.ErrExist) { // another check has created the repository
		return fmt.Errorf("move the repository to its path: %w", err)
	}
	return nil
}

// forget removes the branch and the pull request of a task from the checks' own repository.
func (r *repository) forget(ctx context.Context, t client.Task) error {
	_, err := git(ctx, "-C", r.name, "update-ref", "-d", "refs/heads/"+*t.Branch)
	if t.PullNumber != nil {
		if kept := os.Remove(pullRecord(r.name, *t.PullNumber)); !errors.Is(kept, fs.ErrNotExist) {
			err = errors.Join(err, kept)
		}
	}
	return err
}

// pullRecord returns the file that represents a pull request in a local repository.
func pullRecord(repo string, number int) string {
	return filepath.Join(repo, "omoi", "pulls", strconv.Itoa(number)+".json")
}

// refused adds the next step to the error of a server that cannot use the checks' own repository.
func (k *kit) refused(err error) error {
	if err == nil || !k.repo.own || task.CodeOf(err) != task.CodeInvalid {
		return err
	}
	return &stopError{
		verdict: Fail, text: fmt.Sprintf("The server cannot use %s, the repository of the checks on this machine: %s", k.repo.name, task.MessageOf(err)),
		next: "omoi check <check> --repo <owner/name, or a path on the server's machine>",
	}
}

// git runs git without the user's configuration and without prompts.
func git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // G204: constant arguments and own paths
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=omoi", "GIT_AUTHOR_EMAIL=omoi@example.invalid",
		"GIT_COMMITTER_NAME=omoi", "GIT_COMMITTER_EMAIL=omoi@example.invalid")
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			said = strings.TrimSpace(string(failed.Stderr))
		}
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return strings.TrimSpace(string(out)), nil
}
