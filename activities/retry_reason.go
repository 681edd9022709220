package activities

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// askedOfOthers reports whether an activity asks something of a provider or a git host while its
// task waits: of these a person is told why they are tried again.
func askedOfOthers(name string) bool {
	switch name {
	case contract.EnsureBranch, contract.EnsureSandbox, contract.StartAgent, contract.CollectWork, contract.PublishBranch, contract.OpenPullRequest:
		return true
	}
	return false
}

// tellTrouble writes why a step has failed and is tried again; what is final is told as the end
// of the attempt.
func (a *Activities) tellTrouble(ctx context.Context, info activity.Info, taskID string, err error) {
	var reason task.Reason
	if !final(codeOf(err)) {
		wait := cmp.Or(task.AfterOf(err).Round(time.Second), nextTry(info.ActivityType.Name, info.Attempt))
		reason = task.Reason{Code: task.ReasonRetrying, Detail: a.brief(publicText(err)), Tries: int(info.Attempt), Seconds: wait.Seconds()}
	}
	a.noteTrouble(ctx, info, taskID, reason)
}

// tellRelief takes back what was told of earlier tries.
func (a *Activities) tellRelief(ctx context.Context, args []any) {
	if info := activity.GetInfo(ctx); info.Attempt > 1 {
		a.noteTrouble(ctx, info, taskOf(info, args), task.Reason{})
	}
}

func (a *Activities) noteTrouble(ctx context.Context, info activity.Info, taskID string, reason task.Reason) {
	if taskID == "" || !askedOfOthers(info.ActivityType.Name) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	if err := a.deps.Texts.NoteTrouble(ctx, taskID, reason); err != nil { // people see less, no more
		a.log.WarnContext(ctx, "trouble not noted", slog.String("task_id", taskID), slog.String("error", a.brief(err.Error())))
	}
}

// nextTry is the longest time until an activity is tried again after so many tries.
func nextTry(name string, tries int32) time.Duration {
	p := contract.PolicyOf(name)
	wait := p.Initial
	for range min(tries-1, 30) {
		wait = min(2*wait, p.Max)
	}
	return wait
}
