package localgit

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	tasksRefs  = "refs/omoi/tasks/"
	seenRefs   = "refs/omoi/heads/"
	headsRefs  = "refs/heads/"
	remoteRefs = "refs/remotes/"
)

// Head returns the commit of a branch; empty means the default branch.
func (h *Host) Head(ctx context.Context, repo scm.Repo, from string) (string, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return "", err
	}
	return r.source(ctx, from)
}

// EnsureBranch returns the branch of a task: the recorded one, restored if it was deleted, or a new one from the base
// branch under a free name. A branch that a user has checked out is [scm.ErrCheckedOut]: an agent's work could not be pushed
// to it.
func (h *Host) EnsureBranch(ctx context.Context, req scm.BranchRequest) (scm.Branch, error) {
	if !safeID(req.TaskID) {
		return scm.Branch{}, task.Invalid("task_id", "Task id %q cannot own a branch.", req.TaskID)
	}
	r, err := h.open(ctx, req.Repo)
	if err != nil {
		return scm.Branch{}, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return scm.Branch{}, err
	}
	defer unlock()
	name, base, err := r.owned(ctx, req.TaskID)
	switch {
	case err != nil:
		return scm.Branch{}, err
	case name != "":
		if busy := r.refuseCheckedOut(ctx, name); busy != nil {
			head, err := r.resolve(ctx, headsRefs+name)
			return scm.Branch{Name: name, Base: base, Head: head}, cmp.Or(err, busy)
		}
		return r.restore(ctx, name, base)
	case req.Known != "":
		return r.adopt(ctx, req)
	}
	return r.newBranch(ctx, req)
}

// owned returns the recorded branch of a task and its base commit.
func (r *repository) owned(ctx context.Context, taskID string) (name, base string, err error) {
	prefix := tasksRefs + taskID + "/"
	out, err := r.run(ctx, "for-each-ref", "--count=1", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		return "", "", fmt.Errorf("find the branch of task %s: %w", taskID, err)
	}
	base, ref, _ := strings.Cut(out, " ")
	return strings.TrimPrefix(ref, prefix), base, nil
}

// restore returns a recorded branch. It restores a deleted one at the commit where omoi last saw it.
func (r *repository) restore(ctx context.Context, name, base string) (scm.Branch, error) {
	head, err := r.resolve(ctx, headsRefs+name)
	if err != nil {
		return scm.Branch{}, err
	}
	if head != "" {
		return scm.Branch{Name: name, Base: base, Head: head}, nil
	}
	seen, err := r.resolve(ctx, seenRefs+name)
	if err != nil {
		return scm.Branch{}, err
	}
	head = cmp.Or(seen, base)
	if err := r.change(ctx, "create "+headsRefs+name+" "+head); err != nil {
		return scm.Branch{}, fmt.Errorf("restore branch %s: %w", name, err)
	}
	return scm.Branch{Name: name, Base: base, Head: head}, nil
}

// adopt continues a branch that the task has but the repository does not record, for example after a new clone.
func (r *repository) adopt(ctx context.Context, req scm.BranchRequest) (scm.Branch, error) {
	if err := r.checkName(ctx, req.Known); err != nil {
		return scm.Branch{}, err
	}
	source, err := r.source(ctx, req.From)
	if err != nil {
		return scm.Branch{}, err
	}
	head, err := r.resolve(ctx, headsRefs+req.Known)
	if err != nil {
		return scm.Branch{}, err
	}
	if head == "" {
		return r.record(ctx, req.TaskID, "create", scm.Branch{Name: req.Known, Base: source, Head: source})
	}
	base, err := r.run(ctx, "merge-base", source, head)
	if cutShort(err) {
		return scm.Branch{}, fmt.Errorf("find the base of %s: %w", req.Known, err)
	}
	if err != nil {
		return scm.Branch{}, task.Errorf(task.CodeConflict,
			"Branch %s of %s has no commit in common with its base branch. Next: delete the branch, or push commits that continue from the base branch", req.Known, r.path).WithCause(err)
	}
	return r.record(ctx, req.TaskID, "verify", scm.Branch{Name: req.Known, Base: base, Head: head})
}

func (r *repository) newBranch(ctx context.Context, req scm.BranchRequest) (scm.Branch, error) {
	source, err := r.start(ctx, req)
	if err != nil {
		return scm.Branch{}, err
	}
	taken, err := r.taken(ctx)
	if err != nil {
		return scm.Branch{}, err
	}
	name := scm.FreeBranch(scm.BranchName(req), taken)
	return r.record(ctx, req.TaskID, "create", scm.Branch{Name: name, Base: source, Head: source})
}

// taken returns the names that a new branch must not have: local and remote branches, and recorded branches of tasks,
// deleted ones too.
func (r *repository) taken(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, "for-each-ref", "--format=%(refname)", headsRefs, remoteRefs, seenRefs)
	if err != nil {
		return nil, fmt.Errorf("list the branches of %s: %w", r.path, err)
	}
	all := strings.Fields(out)
	for i, ref := range all {
		all[i] = branchOf(ref)
	}
	return all, nil
}

// branchOf returns the branch of a ref below [headsRefs], [seenRefs] or the refs of a remote, without the remote's name.
func branchOf(ref string) string {
	for _, prefix := range []string{headsRefs, seenRefs} {
		if name, found := strings.CutPrefix(ref, prefix); found {
			return name
		}
	}
	_, name, _ := strings.Cut(strings.TrimPrefix(ref, remoteRefs), "/")
	return name
}

// record creates ("create") or finds ("verify") the branch and records its task, in one transaction.
func (r *repository) record(ctx context.Context, taskID, how string, b scm.Branch) (scm.Branch, error) {
	err := r.change(ctx,
		how+" "+headsRefs+b.Name+" "+b.Head,
		"update "+seenRefs+b.Name+" "+b.Head,
		"create "+tasksRefs+taskID+"/"+b.Name+" "+b.Base)
	if err != nil {
		return scm.Branch{}, fmt.Errorf("create branch %s in %s: %w", b.Name, r.path, err)
	}
	return b, nil
}

// start returns the commit at which the new branch of a task starts.
func (r *repository) start(ctx context.Context, req scm.BranchRequest) (string, error) {
	if req.At == "" {
		return r.source(ctx, req.From)
	}
	commit, err := r.resolve(ctx, req.At)
	if err == nil && commit == "" {
		err = task.Errorf(task.CodeConflict, "Repository %s no longer has commit %s, at which the branch of the task starts. Next: create a task with omoi run", r.path, req.At)
	}
	return commit, err
}

// source returns the head of the branch from.
func (r *repository) source(ctx context.Context, from string) (string, error) {
	if from != "" {
		return r.mustExist(ctx, from)
	}
	name, err := r.defaultBranch(ctx)
	if err != nil {
		return "", err
	}
	return r.resolve(ctx, headsRefs+name)
}

// baseBranch returns the branch called name; the default branch if name is empty.
func (r *repository) baseBranch(ctx context.Context, name string) (string, error) {
	if name == "" {
		return r.defaultBranch(ctx)
	}
	_, err := r.mustExist(ctx, name)
	return name, err
}

// mustExist returns the commit of a branch; [task.CodeInvalid] for a branch that does not exist.
func (r *repository) mustExist(ctx context.Context, branch string) (commit string, err error) {
	if err := r.checkName(ctx, branch); err != nil {
		return "", err
	}
	commit, err = r.resolve(ctx, headsRefs+branch)
	if err == nil && commit == "" {
		err = r.noBranch(branch)
	}
	return commit, err
}

func (r *repository) noBranch(branch string) error {
	return task.Invalid("branch", "Repository %s has no branch %q. Next: git -C %s branch --list", r.path, branch, r.path)
}

// usualName matches names that are legal by every rule of git check-ref-format.
var usualName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*)*$`)

func (r *repository) checkName(ctx context.Context, branch string) error {
	if usualName.MatchString(branch) {
		return nil
	}
	if strings.HasPrefix(branch, "-") {
		return task.Invalid("branch", "%q is not a legal branch name.", branch)
	}
	if _, err := r.run(ctx, "check-ref-format", headsRefs+branch); cutShort(err) {
		return fmt.Errorf("check branch name %s: %w", branch, err)
	} else if err != nil {
		return task.Invalid("branch", "%q is not a legal branch name.", branch).WithCause(err)
	}
	return nil
}

// update runs one ref transaction: either all lines apply, or none.
func (r *repository) update(ctx context.Context, lines ...string) error {
	script := "start\n" + strings.Join(lines, "\n") + "\ncommit\n"
	return r.pipe(ctx, stdio{in: strings.NewReader(script)}, "update-ref", "--no-deref", "--stdin")
}

// safeID reports whether id is legal as a component of a ref and as a file name.
func safeID(id string) bool {
	if id == "" || len(id) > 100 || strings.HasPrefix(id, ".") || strings.HasPrefix(id, "-") ||
		strings.HasSuffix(id, ".") || strings.HasSuffix(id, ".lock") || strings.Contains(id, "..") {
		return false
	}
	return strings.Trim(strings.ToLower(id), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
