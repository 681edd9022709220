package activities

import (
	"cmp"
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
	Work    *agentconfig.Collected `json:"work,omitempty"` // gathered: the bundle exists in the sandbox
}

// CollectWork fast-forwards the task's branch to the agent's commits. [Activities.Salvage] saves uncommitted changes.
// If there are none and no process could still make some, CollectWork records it, and salvage has nothing to do.
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
	tested, err := a.testable(ctx, p, work, at)
	if err != nil {
		return contract.Collected{}, ofSandbox(ofHost(err))
	}
	a.still(ctx, p, at)
	got, err := a.gather(ctx, p, work, at)
	if err != nil {
		return contract.Collected{}, ofSandbox(ofHost(err))
	}
	if got.Commits == 0 && (got.Files > 0 || requires(work, task.EnvRequireChanges)) {
		if must, err := a.mustCommit(ctx, in, work); must || err != nil {
			return contract.Collected{}, cmp.Or(err, noCommit(work))
		}
	}
	out, err := a.publish(ctx, p, work, got)
	out.RepeatTests = tested && out.Head != ""
	if err != nil || !at.get().Stopped || !clean(got) {
		return out, err
	}
	return out, a.deps.Ledger.SaveSalvage(ctx, in.SandboxID, task.Salvage{Kind: task.SalvageNone})
}

// still records, before the work is gathered, that the agent has ended and its files no longer change. If the state is
// unknown, salvage checks by itself.
func (a *Activities) still(ctx context.Context, p place, at *progress[collectPoint]) {
	if at.get().Work != nil || at.get().Stopped {
		return
	}
	seen, err := p.inspect(ctx)
	if err == nil && seen.Started && seen.Agent == sandbox.StateGone {
		at.set(collectPoint{Stopped: true})
	}
}

// clean reports whether the branch holds all gathered work.
func clean(got agentconfig.Collected) bool {
	all := got.Bundle != "" || got.Commits == 0
	return all && got.Repo && got.Files == 0 && got.Rescue == "" && got.Patch == "" && len(got.Notes) == 0
}

// publish pushes the bundle and records the new head of the branch.
func (a *Activities) publish(ctx context.Context, p place, work task.Work, got agentconfig.Collected) (contract.Collected, error) {
	if got.Commits == 0 { // the branch is up to date, so a retry can continue from it
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

// saveHead records that the branch holds the attempt's work.
func (a *Activities) saveHead(ctx context.Context, p place, work task.Work, head string) error {
	return a.deps.Ledger.SaveHead(ctx, work.TaskID, p.row.Attempt, head)
}

// push pushes the bundle to the task's branch.
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

// gather runs omoi-agent in the sandbox to create the bundle and its summary, because Git on the host must not run in
// the workspace. A retry does not gather again.
func (a *Activities) gather(ctx context.Context, p place, work task.Work, at *progress[collectPoint]) (agentconfig.Collected, error) {
	if done := at.get().Work; done != nil {
		return *done, nil
	}
	got, err := a.collect(ctx, p)
	if errors.Is(err, errSpoilt) { // processes in the sandbox may have removed or changed omoi-agent
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
		if got.Unkept && !a.pulled(p.row) {
			a.keepCheckpoint(ctx, p)
		}
	}
	kept := a.receipt(got)
	at.set(collectPoint{Stopped: at.get().Stopped, Work: kept})
	return *kept, nil
}

// errSpoilt reports that omoi-agent failed in the sandbox or printed an invalid summary.
var errSpoilt = errors.New("collect work")

// collect runs omoi-agent in the sandbox.
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

// refurnish copies omoi-agent and a configuration without a token into the sandbox again. Nothing reports events at
// this point.
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

// maxNotes is the number of notes about its work that are kept of one sandbox.
const maxNotes = 25

// receipt returns the part of the summary that later steps need, with bounded texts: the workspace is hostile, and the
// result is stored in a heartbeat.
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

// bundle passes the content of the sandbox's bundle file to use.
func (a *Activities) bundle(ctx context.Context, p place, use func(io.Reader) error) error {
	return a.file(ctx, p, agentconfig.OutBundle, a.cfg.MaxBundleBytes, use)
}

// file passes the content of a file in the sandbox to use. A file of more than limit bytes is an error.
func (a *Activities) file(ctx context.Context, p place, path string, limit int64, use func(io.Reader) error) error {
	f, err := p.provider.ReadFile(ctx, p.labels, path)
	if err != nil {
		return fmt.Errorf("open %s in the sandbox: %w", path, err)
	}
	defer f.Close() //nolint:errcheck // read only
	r := http.MaxBytesReader(nil, f, limit)
	err = use(r)
	if _, over := r.Read(nil); errors.As(over, new(*http.MaxBytesError)) { // use may have ignored the error of the limit
		return task.Errorf(task.CodeInvalid, "The work in the sandbox exceeds the limit of %d MiB.", limit>>20).WithCause(errTooLarge)
	}
	return err
}

// hasCommit checks the branch of an agent that pushes by itself. It returns an error if the task requires a commit and
// the branch has none.
func (a *Activities) hasCommit(ctx context.Context, in contract.SandboxRef, work task.Work) error {
	if !requires(work, task.EnvRequireChanges) {
		return nil
	}
	if must, err := a.mustCommit(ctx, in, work); !must || err != nil {
		return err
	}
	host, err := a.host(work)
	if err != nil {
		return published(err)
	}
	base := cmp.Or(work.Base, work.DefaultBranch) // the default branch holds the work if that is already merged
	ahead, err := host.Ahead(ctx, scm.Repo(work.Repo), base, work.Branch)
	if err != nil {
		return published(fmt.Errorf("count commits of %s: %w", work.Branch, err))
	}
	if ahead > 0 {
		return nil
	}
	return noCommit(work)
}

// mustCommit reports whether the branch must have a commit: if the agent reported a passed validation, or completion in single-run
// mode without any work. The last event of a script counts as reported.
func (a *Activities) mustCommit(ctx context.Context, in contract.SandboxRef, work task.Work) (bool, error) {
	if !strict(work) || task.RuntimeOf(work.Agent).Input == task.InputScript || !requires(work, "REQUIRE_CODE_PUSHED") {
		return false, nil
	}
	if !in.Completed {
		return in.Claimed, nil
	}
	empty, err := a.deps.Tasks.EmptyRun(ctx, in.SandboxID)
	if err != nil {
		return false, fmt.Errorf("read the work that sandbox %s reported: %w", in.SandboxID, err)
	}
	return empty, nil
}

// requires reports whether the task's configuration keeps a requirement. omoi-agent reads it in the same way.
func requires(work task.Work, name string) bool {
	value := work.Execution.Env[name]
	return value == "" || value == "true"
}

// noCommit returns the failure of an agent that made no required commit. The next attempt's prompt names it.
func noCommit(work task.Work) error {
	return classed(task.ClassAgentError, task.Errorf(task.CodeInvalid,
		"No work found: branch %s has no commit of this task. Next: commit and push the change; "+
			"a task without changes sets REQUIRE_CODE_PUSHED=false in env of its execution config.", work.Branch).
		WithReason(task.Reason{Code: task.ReasonNoCommit}))
}
