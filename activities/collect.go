package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// collectPoint is the resume point of [Activities.CollectWork] and [Activities.Salvage].
type collectPoint struct {
	Stopped bool                   `json:"stopped,omitempty"`
	Work    *agentconfig.Collected `json:"work,omitempty"` // gathered: the bundle lies in the sandbox
}

// CollectWork brings the agent's commits from the sandbox to the task's branch, fast-forward
// only. Uncommitted changes are salvage's; where there are none, and nothing runs that could
// still make some, the ledger says so and nobody looks again.
func (a *Activities) CollectWork(ctx context.Context, in contract.SandboxRef) (contract.Collected, error) {
	at, stop := beating[collectPoint](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil {
		return contract.Collected{}, err
	}
	work, err := a.deps.Tasks.Work(ctx, p.row.TaskID)
	if err != nil {
		return contract.Collected{}, fmt.Errorf("read task %s: %w", p.row.TaskID, err)
	}
	if work.Repo == "" {
		return contract.Collected{}, nil
	}
	if task.RuntimeOf(work.Agent).SelfConnecting || !p.exec() {
		return contract.Collected{}, a.hasCommit(ctx, in, work)
	}
	a.still(ctx, p, at)
	got, err := a.gather(ctx, p, work, at)
	if err != nil {
		return contract.Collected{}, ofSandbox(ofHost(err))
	}
	if got.Commits == 0 && mustCommit(in, work) && (got.Files > 0 || requires(work, task.EnvRequireChanges)) {
		return contract.Collected{}, noCommit(work)
	}
	out, err := a.publish(ctx, p, work, got)
	if err != nil || !at.get().Stopped || !clean(got) {
		return out, err
	}
	return out, a.deps.Ledger.SaveSalvage(ctx, in.SandboxID, task.Salvage{Kind: task.SalvageNone})
}

// still notes before the work is gathered that the agent has ended: from then on it does not
// change. Where that cannot be seen, salvage looks for itself.
func (a *Activities) still(ctx context.Context, p place, at *progress[collectPoint]) {
	if at.get().Work != nil || at.get().Stopped {
		return
	}
	seen, err := p.inspect(ctx)
	if err == nil && seen.Started && seen.Agent == sandbox.StateGone {
		at.set(collectPoint{Stopped: true})
	}
}

// clean reports whether the branch holds all that was gathered.
func clean(got agentconfig.Collected) bool {
	all := got.Bundle != "" || got.Commits == 0
	return all && got.Repo && got.Files == 0 && got.Rescue == "" && got.Patch == "" && len(got.Notes) == 0
}

// publish pushes the bundle and writes down where the branch stands then.
func (a *Activities) publish(ctx context.Context, p place, work task.Work, got agentconfig.Collected) (contract.Collected, error) {
	if got.Commits == 0 { // the branch holds all there is; a retry need not begin anew
		return contract.Collected{}, a.saveHead(ctx, p, work, work.Base)
	}
	if got.Bundle == "" {
		return contract.Collected{}, classed(task.ClassPublish, task.Errorf(task.CodeInvalid,
			"Cannot bundle the agent's commits: %s", strings.Join(got.Notes, " ")))
	}
	head, err := a.push(ctx, p, work)
	if err != nil {
		return contract.Collected{}, published(fmt.Errorf("push %s: %w", work.Branch, err))
	}
	return contract.Collected{Head: head, Commits: got.Commits}, a.saveHead(ctx, p, work, head)
}

// saveHead writes down that the branch holds the attempt's work.
func (a *Activities) saveHead(ctx context.Context, p place, work task.Work, head string) error {
	return a.deps.Ledger.SaveHead(ctx, work.TaskID, p.row.Attempt, head)
}

// push brings the branch of the bundle to the repository.
func (a *Activities) push(ctx context.Context, p place, work task.Work) (head string, err error) {
	host, err := a.host(work)
	if err != nil {
		return "", err
	}
	err = a.bundle(ctx, p, func(r io.Reader) error {
		head, err = host.Push(ctx, scm.Repo(work.Repo), work.Branch, r)
		return err
	})
	return head, err
}

// gather has the agent's program make bundle and receipt inside the sandbox, where its git
// may trust the workspace. A try that gathered already is not repeated.
func (a *Activities) gather(ctx context.Context, p place, work task.Work, at *progress[collectPoint]) (agentconfig.Collected, error) {
	if done := at.get().Work; done != nil {
		return *done, nil
	}
	got, err := a.collect(ctx, p)
	if errors.Is(err, errSpoilt) { // what runs inside may have removed or changed its program
		if err := a.refurnish(ctx, p, work); err != nil {
			return agentconfig.Collected{}, err
		}
		got, err = a.collect(ctx, p)
	}
	if err != nil {
		return agentconfig.Collected{}, err
	}
	if at.get().Stopped {
		a.sendRest(ctx, p, got.Unsent)
	}
	kept := a.receipt(got)
	at.set(collectPoint{Stopped: at.get().Stopped, Work: kept})
	return *kept, nil
}

// errSpoilt is of a program in the sandbox that failed, or said what is no receipt.
var errSpoilt = errors.New("collect work")

// collect runs the program inside.
func (a *Activities) collect(ctx context.Context, p place) (agentconfig.Collected, error) {
	res, err := sandbox.Exec(ctx, p.provider, p.labels, sandbox.Command{
		Args: []string{sandbox.AgentPath, "collect", "--config", agentconfig.ConfigPath}, Timeout: collectTimeout,
	})
	if err != nil {
		return agentconfig.Collected{}, fmt.Errorf("collect work: %w", err)
	}
	if res.ExitCode != 0 {
		return agentconfig.Collected{}, fmt.Errorf("%w: exit code %d: %s", errSpoilt, res.ExitCode, a.brief(string(res.Stderr)))
	}
	var got agentconfig.Collected
	if err := json.Unmarshal(res.Stdout, &got); err != nil {
		return agentconfig.Collected{}, fmt.Errorf("%w: read its receipt: %w", errSpoilt, err)
	}
	return got, nil
}

// refurnish puts program and configuration in anew, without a token: nothing reports any more.
func (a *Activities) refurnish(ctx context.Context, p place, work task.Work) error {
	if err := a.putAgent(ctx, p, work); err != nil {
		return err
	}
	paths := p.provider.Paths(p.labels)
	return p.writeConfig(ctx, agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: p.row.ID, TaskID: work.TaskID, Attempt: p.row.Attempt,
		Workspace: paths.Workspace, Dir: paths.Dir, Repo: a.agentRepo(work, paths), Env: work.Execution.Env,
	})
}

// maxNotes is how many sentences of a sandbox about its work are kept.
const maxNotes = 25

// receipt keeps what later steps need: the workspace is hostile, and this goes into a heartbeat.
func (a *Activities) receipt(got agentconfig.Collected) *agentconfig.Collected {
	notes := got.Notes[:min(len(got.Notes), maxNotes)]
	got.Notes = nil
	for _, note := range notes {
		got.Notes = append(got.Notes, a.brief(note))
	}
	got.Head, got.Rescue = cutBytes(got.Head, 64), cutBytes(got.Rescue, 64)
	got.Bundle, got.Patch = cutBytes(got.Bundle, 64), cutBytes(got.Patch, 64)
	return &got
}

// bundle opens the bundle in the sandbox, at the one place where it may lie, for use.
func (a *Activities) bundle(ctx context.Context, p place, use func(io.Reader) error) error {
	return a.file(ctx, p, agentconfig.OutBundle, a.cfg.MaxBundleBytes, use)
}

// file opens a file in the sandbox for use and refuses it beyond limit bytes.
func (a *Activities) file(ctx context.Context, p place, path string, limit int64, use func(io.Reader) error) error {
	f, err := p.provider.ReadFile(ctx, p.labels, path)
	if err != nil {
		return fmt.Errorf("open %s in the sandbox: %w", path, err)
	}
	defer f.Close() //nolint:errcheck // read only
	r := http.MaxBytesReader(nil, f, limit)
	err = use(r)
	if _, over := r.Read(nil); errors.As(over, new(*http.MaxBytesError)) { // which use may not have passed on
		return task.Errorf(task.CodeInvalid, "The work in the sandbox exceeds the limit of %d MiB.", limit>>20).WithCause(errTooLarge)
	}
	return err
}

// hasCommit returns an error if the branch of an agent that pushes by itself must have a commit of the task, and has none.
func (a *Activities) hasCommit(ctx context.Context, in contract.SandboxRef, work task.Work) error {
	if !mustCommit(in, work) || !requires(work, task.EnvRequireChanges) {
		return nil
	}
	host, err := a.host(work)
	if err != nil {
		return published(err)
	}
	for _, base := range []string{work.DefaultBranch, work.Base} { // the default branch holds the work if that is merged already
		ahead, err := host.Ahead(ctx, scm.Repo(work.Repo), base, work.Branch)
		if err != nil {
			return published(fmt.Errorf("count commits of %s: %w", work.Branch, err))
		}
		if ahead > 0 {
			return nil
		}
	}
	return noCommit(work)
}

// mustCommit reports whether the branch judges the work: the agent says that its own checks passed, and the task asks for
// commits. A script's last event counts as it is.
func mustCommit(in contract.SandboxRef, work task.Work) bool {
	return in.Claimed && strict(work) && task.RuntimeOf(work.Agent).Input != task.InputScript && requires(work, "REQUIRE_CODE_PUSHED")
}

// requires reports whether the task's configuration leaves a requirement in force, as omoi-agent reads it.
func requires(work task.Work, name string) bool {
	value := work.Execution.Env[name]
	return value == "" || value == "true"
}

// noCommit is a failure of the agent: the next attempt is told of it.
func noCommit(work task.Work) error {
	return classed(task.ClassAgentError, task.Errorf(task.CodeInvalid,
		"No work found: branch %s has no commit of this task. Next: commit and push the change; "+
			"a task without changes sets REQUIRE_CODE_PUSHED=false in env of its execution config.", work.Branch))
}
