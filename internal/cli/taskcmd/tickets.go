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
	var all bool
	cmd := &cobra.Command{
		Use: "tickets [ticket]", Aliases: []string{"ticket"}, Short: "List tickets, newest first, or show one with its tasks and why they failed",
		Long: `List tickets, newest first, or show one (- is the newest) with its tasks, why those failed that did, and what was found of that. Tickets that have
no tasks but those of omoi check are listed with --all.`,
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
			return s.tickets(cmd.Context(), limit, all)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "how many; 0 is all of them")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "those of omoi check too")
	return cmd
}

func (s *session) tickets(ctx context.Context, limit int, all bool) error {
	api, err := s.api()
	if err != nil {
		return err
	}
	found, err := ticketsOf(ctx, api, limit, all)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(found.Items)
	}
	if len(found.Items) > 0 {
		s.ticketTable(found.Items)
	} else {
		s.hint("No tickets. Each task makes one that names none. Next: omoi run --help")
	}
	if found.More {
		s.hint("There are more: omoi tickets -n 0")
	}
	if found.Left {
		s.hint("Tickets of omoi check are left out: omoi tickets --all")
	}
	return nil
}

func (s *session) ticketTable(tickets []client.Ticket) {
	rows := [][]string{{"TICKET", "STATUS", "TASKS", "AGE", "TITLE"}}
	for _, t := range tickets {
		rows = append(rows, []string{
			s.style().Bold(render.Short(t.ID)), ticketStatus(t), strconv.Itoa(len(t.TaskIDs)), render.Elapsed(time.Since(t.CreatedAt)), render.OneLine(t.Title, 60),
		})
	}
	_, _ = fmt.Fprint(s.Stdout, s.style().Table(rows))
	for _, t := range tickets {
		if t.BlockedWhy != "" {
			s.say("%s is blocked: %s", render.Short(t.ID), render.OneLine(render.ShortIDs(t.BlockedWhy, t.TaskIDs...), 200))
		}
	}
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
	s.row("Blocked", render.OneLine(render.ShortIDs(t.BlockedWhy, t.TaskIDs...), 250))
	s.row("Phase", t.PhaseID)
	page, err := api.Tasks(ctx, client.TaskFilter{TicketID: t.ID, Limit: pageLimit})
	if err != nil {
		return err
	}
	s.psTable(page.Items)
	s.failures(page.Items)
	if d := t.Diagnosis; d != nil {
		s.showDiagnosis(*d, func(text string) string {
			return render.Clean(render.ShortIDs(text, d.TaskID))
		})
	}
	return nil
}

// failures says of each task that failed why, and what tells more.
func (s *session) failures(tasks []client.Task) {
	var next [][2]string
	for _, t := range tasks {
		if t.Status != task.StatusFailed {
			continue
		}
		s.say("%s: %s", render.Short(t.ID), render.OneLine(withoutRetry(t), 250))
		next = append(next, [2]string{"omoi why " + render.Short(t.ID), "what shows it, and what to type next"})
	}
	s.next(s.say, next)
}

// findTicket resolves what a person typed for a ticket: its id, or a part of it among the newest ones.
func findTicket(ctx context.Context, api *client.Client, ref string) (client.Ticket, error) {
	switch {
	case ref == "-":
		return lastTicket(ctx, api)
	case len(ref) == uuidLength:
		return api.Ticket(ctx, ref)
	case len(ref) < minFragment:
		return client.Ticket{}, exit.Usagef("%q is too short for a ticket: give 4 or more characters of the id, or - for the newest", ref)
	}
	all, err := ticketsOf(ctx, api, pageLimit, true)
	if err != nil {
		return client.Ticket{}, err
	}
	var found []client.Ticket
	for _, t := range all.Items {
		if partOf(t.ID, ref) {
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
