package postgres

import (
	"cmp"
	"context"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/ticket"
)

// PauseProject stops the admission of a project's tasks. With p.Now, running tasks get a command that saves their work
// and suspends them. PauseProject returns these tasks.
func (s *Store) PauseProject(ctx context.Context, p client.ProjectPause) (client.Project, []string, error) {
	return s.switchProject(ctx, p, true, func(q *db.Queries) ([]string, error) {
		if !p.Now {
			return nil, nil
		}
		return q.ParkAtWork(ctx, db.ParkAtWorkParams{ProjectID: p.ProjectID, Reason: storable(p.Reason), Sender: p.Sender})
	})
}

// ResumeProject admits the tasks of a project again, and resumes tasks that the pause suspended. ResumeProject returns
// these tasks.
func (s *Store) ResumeProject(ctx context.Context, p client.ProjectPause) (client.Project, []string, error) {
	return s.switchProject(ctx, p, false, func(q *db.Queries) ([]string, error) {
		return q.ResumeParked(ctx, db.ResumeParkedParams{
			ProjectID: p.ProjectID, Blocked: string(task.BlockedPaused), Reason: storable(p.Reason), Sender: p.Sender,
		})
	})
}

func (s *Store) switchProject(ctx context.Context, p client.ProjectPause, paused bool, ask func(*db.Queries) ([]string, error)) (client.Project, []string, error) {
	var row db.Project
	var asked []string
	err := s.inTx(ctx, func(q *db.Queries) (err error) {
		row, err = q.SetProjectPaused(ctx, db.SetProjectPausedParams{Paused: paused, OrganizationID: p.OrganizationID, ID: p.ProjectID})
		if err != nil {
			return err
		}
		if asked, err = ask(q); err != nil {
			return err
		}
		return admitAll(ctx, q, p.OrganizationID)
	})
	return projectOf(row), orEmpty(asked), missing(translate("pause or resume project "+p.ProjectID, err), "There is no project %s.", p.ProjectID)
}

// ChangeTicket changes fields of a ticket. For a phase that may not follow, ChangeTicket returns [task.CodeConflict]
// with the allowed phases.
func (s *Store) ChangeTicket(ctx context.Context, organizationID, id string, c client.UpdateTicketRequest) (client.Ticket, error) {
	err := s.inTx(ctx, func(q *db.Queries) error {
		from, err := q.LockTicket(ctx, organizationID, id)
		if err != nil {
			return err
		}
		if to := c.PhaseID; to != nil && !ticket.CanMove(from, *to) {
			return task.Errorf(task.CodeConflict, "A ticket in %s cannot move to %s. Allowed: %s.",
				from, *to, cmp.Or(strings.Join(ticket.PhaseMoves(from), ", "), "none")).WithKind(task.KindInvalidState)
		}
		return q.UpdateTicket(ctx, db.UpdateTicketParams{
			Title: c.Title, Description: c.Description, TicketType: c.TicketType, PhaseID: c.PhaseID, Priority: c.Priority,
			Context: c.Context, ID: id,
		})
	})
	if err != nil {
		return client.Ticket{}, missing(translate("change ticket "+id, err), "There is no ticket %s.", id)
	}
	return s.Ticket(ctx, organizationID, id)
}

// goOn resumes a task that was suspended for a pause or a budget, if the pause has ended or the budget was raised
// meanwhile.
func (w *projecting) goOn(ctx context.Context) error {
	if w.p.Blocked != task.BlockedPaused && w.p.Blocked != task.BlockedBudget {
		return nil
	}
	on, err := w.q.ProjectGoesOn(ctx, w.row.ProjectID)
	why := "the pause has ended"
	switch {
	case err != nil:
		return err
	case w.p.Blocked == task.BlockedBudget:
		why = "the budget was raised"
	case !on:
		return nil
	}
	_, err = w.q.ResumeParked(ctx, db.ResumeParkedParams{
		ProjectID: w.row.ProjectID, Blocked: string(w.p.Blocked), Reason: why, Sender: sender,
	})
	return err
}

// sender is the sender of commands that omoi itself gives.
const sender = "omoi"
