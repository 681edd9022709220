package taskcmd

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// newestTickets are tickets, newest first.
type newestTickets struct {
	Items []client.Ticket
	More  bool // there are more than were asked for
	Left  bool // those of `omoi check` were left out
}

// ticketsOf reads so many tickets, 0: all of them. Those of `omoi check` are left out unless checks is set.
func ticketsOf(ctx context.Context, api *client.Client, most int, checks bool) (newestTickets, error) {
	out, cursor := newestTickets{Items: []client.Ticket{}}, ""
	for {
		page, err := api.Tickets(ctx, "", cursor)
		if err != nil {
			return out, err
		}
		for _, t := range page.Items {
			switch {
			case t.OfCheck && !checks:
				out.Left = true
			case most > 0 && len(out.Items) == most:
				out.More = true
				return out, nil
			default:
				out.Items = append(out.Items, t)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return out, nil
		}
	}
}

// lastTicket is the one that was made last, as the server shows one.
func lastTicket(ctx context.Context, api *client.Client) (client.Ticket, error) {
	found, err := ticketsOf(ctx, api, 1, false)
	if err != nil {
		return client.Ticket{}, err
	}
	if len(found.Items) == 0 {
		return client.Ticket{}, task.Errorf(task.CodeNotFound, "There is no ticket yet. Each task makes one that names none. Next: omoi run --help")
	}
	return api.Ticket(ctx, found.Items[0].ID)
}
