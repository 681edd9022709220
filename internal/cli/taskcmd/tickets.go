package taskcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newTickets(s *session) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "tickets [ticket]", Aliases: []string{"ticket"}, Short: "List tickets, newest first, or show one with its tasks and what was found of their failures",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("%s takes one ticket, or none for all of them", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return exit.Usagef("-n %d: give how many tickets to list, or 0 for all of them", limit)
			}
			if len(args) == 1 {
				return s.ticket(cmd.Context(), args[0])
			}
			return s.tickets(cmd.Context(), limit)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "how many; 0 is all of them")
	return cmd
}

func (s *session) tickets(ctx context.Context, limit int) error {
	api, err := s.api()
	if err != nil {
		return err
	}
	found, more, err := ticketsOf(ctx, api, limit)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(found)
	}
	if len(found) == 0 {
		s.hint("No tickets. Each task makes one that names none. Next: omoi run --help")
		return nil
	}
	rows := [][]string{{"TICKET", "STATUS", "TASKS", "AGE", "TITLE"}}
	for _, t := range found {
		rows = append(rows, []string{
			s.style().Bold(render.Short(t.ID)), ticketStatus(t), strconv.Itoa(len(t.TaskIDs)), render.Elapsed(time.Since(t.CreatedAt)), render.OneLine(t.Title, 60),
		})
	}
	_, _ = fmt.Fprint(s.Stdout, s.style().Table(rows))
	if more {
		s.hint("There are more: omoi tickets -n 0")
	}
	return nil
}

// ticketsOf answers the newest tickets, and whether there are more.
func ticketsOf(ctx context.Context, api *client.Client, limit int) ([]client.Ticket, bool, error) {
	found, more, err := collect(limit, func(_ int, cursor string) (client.Page[client.Ticket], error) {
		return api.Tickets(ctx, "", cursor)
	})
	if limit > 0 && len(found) > limit {
		found, more = found[:limit], true
	}
	return found, more, err
}

func ticketStatus(t client.Ticket) string {
	status := t.Status
	if t.Blocked {
		status += ", blocked"
	}
	if t.Diagnosis != nil {
		status += ", diagnosed"
	}
	return status
}

func (s *session) ticket(ctx context.Context, ref string) error {
	api, err := s.api()
	if err != nil {
		return err
	}
	t, err := findTicket(ctx, api, strings.ToLower(strings.TrimSpace(ref)))
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(t)
	}
	s.row("Ticket", t.ID)
	s.row("Title", render.OneLine(t.Title, 100))
	s.row("Status", ticketStatus(t))
	s.row("Phase", t.PhaseID)
	page, err := api.Tasks(ctx, client.TaskFilter{TicketID: t.ID, Limit: pageLimit})
	if err != nil {
		return err
	}
	s.psTable(page.Items)
	if d := t.Diagnosis; d != nil {
		s.showDiagnosis(*d, func(text string) string {
			return render.Clean(render.ShortIDs(text, d.TaskID))
		})
	}
	return nil
}

// findTicket resolves what a person typed for a ticket: its id, or a part of it among the newest ones.
func findTicket(ctx context.Context, api *client.Client, ref string) (client.Ticket, error) {
	if len(ref) == uuidLength {
		return api.Ticket(ctx, ref)
	}
	if len(ref) < minFragment {
		return client.Ticket{}, exit.Usagef("%q is too short for a ticket: give 4 or more characters of the id", ref)
	}
	all, _, err := ticketsOf(ctx, api, pageLimit)
	if err != nil {
		return client.Ticket{}, err
	}
	var found []client.Ticket
	for _, t := range all {
		if strings.HasPrefix(t.ID, ref) || strings.HasSuffix(t.ID, ref) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return client.Ticket{}, task.Errorf(task.CodeNotFound, "No ticket begins or ends with %q. Next: omoi tickets", ref)
	}
	return client.Ticket{}, exit.Usagef("%q fits more than one ticket; give more of the id. Next: omoi tickets", ref)
}
