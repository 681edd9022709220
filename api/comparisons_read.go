package api

import (
	"context"
	"strconv"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

func (a *API) getComparison(ctx context.Context, in *IDPath) (*bodyOut[client.Comparison], error) {
	return body(a.comparisonOf(ctx, in.ID))
}

// comparisonOf reads the candidates of a ticket.
func (a *API) comparisonOf(ctx context.Context, ticketID string) (out client.Comparison, err error) {
	ticket, err := a.deps.Tickets.Ticket(ctx, callerOf(ctx).organization, ticketID)
	if err != nil {
		return out, err
	}
	out = client.Comparison{TicketID: ticket.ID, TicketKey: ticket.Key, Title: ticket.Title, Ended: true}
	for _, id := range ticket.TaskIDs {
		c, is, err := a.candidateOf(ctx, id)
		if err != nil {
			return out, err
		}
		if is {
			out.Candidates, out.Ended = append(out.Candidates, c), out.Ended && c.Status.Final()
		}
	}
	if len(out.Candidates) < 2 { //nolint:mnd // one alone is not compared
		return out, task.Errorf(task.CodeNotFound, "Ticket %s is not a comparison: it has fewer than two candidates.", ticket.Key)
	}
	out.Budget, out.Recommendation = candidate.Whole(out.Candidates), candidate.Recommend(out.Candidates)
	return out, nil
}

// candidateOf reads a candidate with its figures; false: the task is not a candidate.
func (a *API) candidateOf(ctx context.Context, taskID string) (c client.ComparedTask, is bool, err error) {
	organization := callerOf(ctx).organization
	t, err := a.deps.Tasks.Task(ctx, organization, taskID)
	if err != nil {
		return c, false, err
	}
	if c, is = candidate.Of(t); !is {
		return c, false, nil
	}
	spent, err := a.deps.Budgets.TaskBudget(ctx, organization, taskID)
	if err != nil {
		return c, true, err
	}
	c.CostUSD, c.CostUnknown, c.Tokens, c.Seconds = spent.Used.USD, spent.Used.CostUnknown, spent.Used.Tokens, spent.Used.WallClockS
	if c.Status.Final() {
		err = a.size(ctx, t, &c)
	}
	return c, true, err
}

// size adds the size of the work of an ended task. The size of work that no longer exists stays unknown.
func (a *API) size(ctx context.Context, t task.Task, c *client.ComparedTask) error {
	work := candidate.Work(t)
	if work == nil {
		return nil
	}
	var err error
	of := comparison{task: t.ID}
	if of.from, err = a.deps.Review.Point(ctx, t, "base"); err == nil {
		of.to, err = a.deps.Review.Point(ctx, t, strconv.Itoa(work.Number))
	}
	var found review.Changes
	if err == nil {
		found, err = a.comparing.changes.ask(ctx, of, func(ctx context.Context, of comparison) (review.Changes, error) {
			return a.deps.Review.Changes(ctx, t, of.from, of.to)
		})
	}
	switch task.CodeOf(err) { //nolint:exhaustive // another error may pass
	case task.CodeGone, task.CodeNotFound, task.CodeConflict, task.CodeInvalid:
		return nil
	}
	if err == nil {
		c.Files = &found.TotalFiles
		if found.Additions != nil && found.Deletions != nil {
			c.Lines = new(*found.Additions + *found.Deletions)
		}
	}
	return err
}
