package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/ticket"
)

// Ticket returns a ticket of an organization with the IDs of its tasks.
func (s *Store) Ticket(ctx context.Context, organizationID, id string) (client.Ticket, error) {
	row, err := s.q.TicketByID(ctx, organizationID, id)
	if err != nil {
		return client.Ticket{}, missing(translate("read ticket "+id, err), "There is no ticket %s.", id)
	}
	found := []client.Ticket{ticketOf(db.ListTicketsRow(row))}
	err = errors.Join(s.diagnosed(ctx, found), s.blocked(ctx, found))
	return found[0], err
}

// Tickets lists the tickets of an organization, newest first. Without project IDs, all tickets are listed.
func (s *Store) Tickets(ctx context.Context, organizationID string, q client.TicketQuery) (client.Page[client.Ticket], error) {
	found, err := pageOf(q.PageRequest, func(p place) ([]db.ListTicketsRow, error) {
		return s.q.ListTickets(ctx, db.ListTicketsParams{
			OrganizationID: organizationID, ProjectIds: q.ProjectIDs, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, ticketOf, func(t client.Ticket) (time.Time, string) { return t.CreatedAt, t.ID })
	if err != nil {
		return found, translate("list tickets", err)
	}
	return found, errors.Join(s.diagnosed(ctx, found.Items), s.blocked(ctx, found.Items))
}

// diagnosed adds the diagnoses of tickets.
func (s *Store) diagnosed(ctx context.Context, tickets []client.Ticket) error {
	rows, err := s.q.TicketDiagnoses(ctx, mapAll(tickets, func(t client.Ticket) string { return t.ID }))
	for _, row := range rows {
		d := diagnosisOf(db.DiagnosesRow(row))
		for n := range tickets {
			if tickets[n].ID == d.TicketID {
				tickets[n].Diagnosis = &d
			}
		}
	}
	return translate("read the diagnoses of tickets", err)
}

// blocked adds why tickets are blocked.
func (s *Store) blocked(ctx context.Context, tickets []client.Ticket) error {
	why := map[string]string{}
	for _, t := range tickets {
		if t.Blocked {
			why[t.ID] = ""
		}
	}
	if len(why) == 0 {
		return nil
	}
	rows, err := s.q.BlockingTasks(ctx, slices.Collect(maps.Keys(why)))
	for _, row := range rows {
		why[row.TicketID] = whyBlocked(row)
	}
	for n := range tickets {
		tickets[n].BlockedWhy = why[tickets[n].ID]
	}
	return translate("read why tickets are blocked", err)
}

func whyBlocked(row db.BlockingTasksRow) string {
	switch {
	case task.Status(row.Status) != task.StatusFailed:
		return fmt.Sprintf("Task %s waits for task %s, which failed or was cancelled.", row.ID, row.WaitsFor)
	case row.ErrorMessage == "":
		return fmt.Sprintf("Task %s failed.", row.ID)
	}
	return fmt.Sprintf("Task %s failed: %s", row.ID, explain.InShort(row.ErrorMessage))
}

func ticketOf(r db.ListTicketsRow) client.Ticket {
	row := r.Ticket
	var tasks []ticket.Task
	_ = json.Unmarshal(r.Tasks, &tasks) // the query builds the value
	return client.Ticket{
		ID: row.ID, Key: row.Key, ProjectID: row.ProjectID, Title: row.Title, Description: row.Description, TicketType: row.TicketType,
		PhaseID: row.PhaseID, Status: ticket.Status(tasks), Blocked: r.Blocked, Priority: row.Priority, Context: row.Context,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, TaskIDs: r.TaskIds, IsCheck: r.OfCheck,
	}
}
