package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

func newCompare(s *session) *cobra.Command {
	one := exactly(1, "one ticket of omoi run --compare: its key or ID, 4 or more characters of the ID, or - for the newest")
	cmd := s.verb("compare <ticket>", "Compare the tasks of omoi run --compare", one,
		about(ticketOf, func(ctx context.Context, api *client.Client, t client.Ticket) error {
			found, err := api.Comparison(ctx, t.ID)
			return s.answer(found, err, func() { s.showComparison(found) })
		}))
	cmd.Long = `Show what omoi run --compare created: for each agent its task, status, repeated tests, size of the change, cost and branch,
and one recommendation by fixed rules. Tests decide first, then the number of changed lines, then the cost. Without a
green test there is no recommendation. All branches stay (docs/COMPARE.md).`
	return cmd
}

// compared returns the candidates of --compare; nil without the flag.
func (r *run) compared() ([]client.CandidateRequest, error) {
	if r.compare == "" {
		return nil, nil
	}
	return candidates(r.compare)
}

// candidates parses --compare: agents, each with a model after a colon if one is named.
func candidates(flag string) (out []client.CandidateRequest, err error) {
	for one := range strings.SplitSeq(flag, ",") {
		agent, model, named := strings.Cut(strings.TrimSpace(one), ":")
		if agent == "" || named && model == "" {
			return nil, exit.Usagef("invalid --compare %q: expected agents, for example claude,codex or claude:opus,claude:sonnet", flag)
		}
		out = append(out, client.CandidateRequest{Agent: agent, Model: model})
	}
	if len(out) < 2 { //nolint:mnd // one alone is not compared
		return nil, exit.Usagef("invalid --compare %q: name two agents or more, for example claude,codex", flag)
	}
	return out, nil
}

// compareTasks creates a comparison and, with --wait, follows it.
func (r *run) compareTasks(ctx context.Context, api *client.Client, in client.CreateComparisonRequest) error {
	found, made, err := api.CreateComparison(ctx, in, r.key)
	if err != nil {
		return r.notCreated(err)
	}
	if !made {
		r.hint("This idempotency key was used before: the comparison exists already.")
	}
	if !r.wait {
		return r.answer(found, nil, func() { r.showComparison(found) })
	}
	r.hint("Comparing %d tasks of %s. Another terminal shows the state: omoi compare %s", len(found.Candidates), found.TicketKey, found.TicketKey)
	return r.awaitComparison(ctx, api, found)
}

// awaitComparison waits until each task has ended or needs a user, and shows the comparison.
func (r *run) awaitComparison(ctx context.Context, api *client.Client, of client.Comparison) error {
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout, errWaited)
		defer cancel()
	}
	for {
		for _, c := range of.Candidates {
			if err := r.awaitTask(ctx, api, c.TaskID); err != nil {
				return r.leftComparison(ctx, of, err)
			}
		}
		found, err := api.Comparison(ctx, of.TicketID)
		if err != nil {
			return r.leftComparison(ctx, of, err)
		}
		if !slices.ContainsFunc(found.Candidates, works) { // a task that waited for a user may work again
			return errors.Join(r.answer(found, nil, func() { r.showComparison(found) }), comparisonOutcome(found))
		}
	}
}

// works reports whether a candidate has neither ended nor needs a user.
func works(c client.ComparedTask) bool { return !c.Status.Final() && !needsUser(candidateTask(c)) }

// candidateTask returns what is known of the task of a candidate.
func candidateTask(c client.ComparedTask) client.Task {
	return client.Task{Status: c.Status, Blocked: c.Blocked, Group: c.Group}
}

// awaitTask waits until a task has ended or needs a user.
func (r *run) awaitTask(ctx context.Context, api *client.Client, id string) error {
	f := &follower{session: r.session, api: api, id: id}
	for {
		t, err := api.Task(ctx, id)
		if err == nil && (t.Status.Final() || needsUser(t)) {
			return nil
		}
		if err != nil {
			if err = f.outage(ctx, err); err != nil {
				return err
			}
			continue
		}
		f.down = time.Time{}
		if err := wait.For(ctx, waitQueued); err != nil {
			return err
		}
	}
}

// leftComparison prints the command that shows the comparison later.
func (r *run) leftComparison(ctx context.Context, of client.Comparison, err error) error {
	r.note("The tasks continue. Next: omoi compare %s", of.TicketKey)
	switch {
	case errors.Is(context.Cause(ctx), errWaited):
		return exit.With(exit.Interrupted, fmt.Errorf("the tasks of %s have not ended within --wait-timeout", of.TicketKey))
	case ctx.Err() != nil:
		return exit.With(exit.Interrupted, nil)
	}
	return err
}

// comparisonOutcome returns the exit code: that of the first task that waits for a user, or failed if no task is completed.
func comparisonOutcome(c client.Comparison) error {
	completed := false
	for _, one := range c.Candidates {
		if !one.Status.Final() {
			return outcome(candidateTask(one))
		}
		completed = completed || one.Status == task.StatusCompleted
	}
	if !completed {
		return exit.With(exit.Failed, nil)
	}
	return nil
}
