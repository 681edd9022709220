package taskcmd

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newTicket(s *session) *cobra.Command {
	return noun("ticket", "List tickets, and show one with its tasks", s.ticketList(), s.ticketShow())
}

func (s *session) ticketList() *cobra.Command {
	var limit int
	var all bool
	cmd := s.verb("list", "List tickets, newest first", NoArgs, func(ctx context.Context, api *client.Client, _ []string) error {
		found, err := newestTickets(ctx, api, limit, all)
		return s.answer(found.Items, err, func() {
			s.ticketTable(found.Items)
			s.rest(found.More, found.Left, "omoi ticket list")
		})
	})
	listFlags(cmd, &limit, &all)
	return cmd
}

func (s *session) ticketTable(tickets []client.Ticket) {
	none := "No tickets. A task that names no ticket creates one. Next: omoi run --help"
	list(s, tickets, none, "TICKET|STATUS|TASKS|AGE|TITLE", func(t client.Ticket) []string {
		return []string{
			s.style().Bold(render.Name(t.Key, t.ID)), ticketStatus(t), strconv.Itoa(len(t.TaskIDs)), render.Elapsed(time.Since(t.CreatedAt)), render.OneLine(t.Title, 60),
		}
	})
	for _, t := range tickets {
		if t.BlockedWhy != "" {
			s.say("%s is blocked: %s", render.Name(t.Key, t.ID), render.OneLine(render.ShortIDs(t.BlockedWhy, t.TaskIDs...), 200))
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

func (s *session) ticketShow() *cobra.Command {
	one := exactly(1, "one ticket: its key or ID, 4 or more characters of the ID, or - for the newest")
	cmd := s.verb("show <ticket>", "Show a ticket with its tasks and their failures", one,
		about(ticketOf, func(ctx context.Context, api *client.Client, t client.Ticket) error {
			if *s.JSON {
				return s.printJSON(t)
			}
			page, err := api.Tasks(ctx, client.TaskFilter{TicketID: t.ID, Limit: pageLimit})
			if err == nil {
				s.showTicket(t, page.Items)
			}
			return err
		}))
	cmd.Long = "Show a ticket with its tasks, the reasons of their failures, and the diagnosis. - is the newest ticket."
	return cmd
}

func (s *session) showTicket(t client.Ticket, tasks []client.Task) {
	s.row("Ticket", strings.TrimSpace(t.Key+"  "+t.ID))
	s.row("Title", render.OneLine(t.Title, 100))
	s.row("Status", ticketStatus(t))
	s.row("Blocked", render.OneLine(render.ShortIDs(t.BlockedWhy, t.TaskIDs...), 250))
	s.row("Phase", t.PhaseID)
	s.psTable(tasks, "")
	s.failures(tasks)
	if d := t.Diagnosis; d != nil {
		s.showDiagnosis(*d, func(text string) string { return render.Clean(render.ShortIDs(text, d.TaskID)) })
	}
}

// failures prints why tasks failed, with the command that shows more.
func (s *session) failures(tasks []client.Task) {
	var next [][2]string
	for _, t := range tasks {
		if t.Status != task.StatusFailed {
			continue
		}
		s.say("%s: %s", render.Name(t.Key, t.ID), render.OneLine(shortWhy(t), 250))
		next = append(next, [2]string{"omoi why " + render.Name(t.Key, t.ID), "show the evidence and the next command"})
	}
	s.next(s.say, next)
}

// ticketOf returns the ticket that ref names: by its ID or key, or by a part of the ID of one of the newest tickets.
func ticketOf(ctx context.Context, api *client.Client, ref string) (found client.Ticket, err error) {
	ref = plain(ref)
	if len(ref) == uuidLength || isKey(task.KeyedTicket, ref) {
		return api.Ticket(ctx, ref)
	}
	all, err := newestTickets(ctx, api, pageLimit, ref != newestRef)
	if err != nil {
		return found, err
	}
	if ref == newestRef && len(all.Items) > 0 {
		return api.Ticket(ctx, all.Items[0].ID)
	}
	return kind[client.Ticket]{noun: "ticket", list: "omoi ticket list", id: func(t client.Ticket) string { return t.ID }}.pick(all.Items, ref)
}
