package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Comparison returns the candidates of a ticket with their figures, in a number of queries that does not depend on their number, and the
// recommendation. [task.CodeNotFound] if the ticket has fewer than two.
func (s *Store) Comparison(ctx context.Context, organizationID, ticketID string) (out candidate.Comparison, err error) {
	ticket, err := s.q.ComparedTicket(ctx, organizationID, ticketID)
	if err != nil {
		return out, missing(translate("read ticket "+ticketID, err), "There is no ticket %s.", ticketID)
	}
	ids, err := s.q.UnmeteredOfCandidates(ctx, ticketID)
	if err := meter(ctx, s.q, ids, err); err != nil {
		return out, translate("update the usage of the tasks of ticket "+ticketID, err)
	}
	out = candidate.Comparison{TicketID: ticket.ID, TicketKey: ticket.Key, Title: ticket.Title}
	if out.Candidates, err = s.candidates(ctx, ticketID); err != nil {
		return out, translate("read the tasks of ticket "+ticketID, err)
	}
	if len(out.Candidates) < 2 { //nolint:mnd // one alone is not compared
		return out, task.Errorf(task.CodeNotFound, "Ticket %s is not a comparison: it has fewer than two candidates.", ticket.Key)
	}
	return out.Judged(), nil
}

func (s *Store) candidates(ctx context.Context, ticketID string) ([]candidate.ComparedTask, error) {
	rows, err := s.q.Candidates(ctx, ticketID)
	if err != nil {
		return nil, err
	}
	uses, err := collectRows[taskUse](ctx, s, `SELECT t.id::text, u.what, u.used FROM tasks t, omoi_task_usage(t.id) u WHERE t.id = ANY($1)`,
		mapAll(rows, func(r db.CandidatesRow) string { return r.ID }))
	of := map[string][]use{}
	for _, u := range uses {
		of[u.ID] = append(of[u.ID], use{u.What, u.Used})
	}
	return mapAll(rows, func(r db.CandidatesRow) candidate.ComparedTask { return comparedTask(r, of[r.ID]) }), err
}

// taskUse is a use of a task.
type taskUse struct {
	ID, What string
	Used     float64
}

func comparedTask(r db.CandidatesRow, uses []use) candidate.ComparedTask {
	spent := spending(r.Budget, uses, r.CostUnknown)
	c := candidate.ComparedTask{
		Name: candidate.Name(r.Agent, r.Model), TaskID: r.ID, TaskKey: r.Key, Status: task.Status(r.Status), Blocked: task.BlockedReason(r.BlockedReason),
		Group: groupOf(r.Status, r.BlockedReason, r.AgentWaits), Branch: r.BranchName, PullURL: r.PullRequestUrl,
		Tests: testRepeat(r.TestRepeat, r.Attempt), Files: r.ChangedFiles, Lines: r.ChangedLines, Budget: spent.Budget,
		CostUSD: spent.Used.USD, CostUnknown: spent.Used.CostUnknown, Tokens: spent.Used.Tokens, Seconds: spent.Used.WallClockS,
	}
	if c.Status != task.StatusCompleted { // the size is that of an earlier end
		c.Files, c.Lines = nil, nil
	}
	return c
}

// SaveChangeSize stores the size of the published change of a task.
func (s *Store) SaveChangeSize(ctx context.Context, taskID string, files, lines int) error {
	err := s.q.SaveChangeSize(ctx, db.SaveChangeSizeParams{ChangedFiles: files, ChangedLines: lines, TaskID: taskID})
	return translate("save the size of the change of task "+taskID, err)
}
