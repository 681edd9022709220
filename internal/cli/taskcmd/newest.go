package taskcmd

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
)

// newestOf are tasks or tickets, newest first.
type newestOf[T any] struct {
	Items []T
	More  bool // there are more than were asked for
	Left  bool // those of `omoi check` were left out
}

// read reads so many of a list, 0: all of them. Those that skip names are left out.
func (n *newestOf[T]) read(most int, skip func(T) bool, page func(limit int, cursor string) (client.Page[T], error)) error {
	n.Items = []T{}
	for cursor := ""; ; {
		limit := pageLimit
		if most > 0 && !n.Left { // behind one there may be many
			limit = min(most+1, pageLimit)
		}
		got, err := page(limit, cursor)
		if err != nil {
			return err
		}
		for _, one := range got.Items {
			switch {
			case skip(one):
				n.Left = true
			case most > 0 && len(n.Items) == most:
				n.More = true
				return nil
			default:
				n.Items = append(n.Items, one)
			}
		}
		if cursor = got.NextCursor; cursor == "" {
			return nil
		}
	}
}

// newest reads so many tasks, 0: all of them; with those of `omoi check` only if checks is set.
func newest(ctx context.Context, api *client.Client, f client.TaskFilter, most int, checks bool) (out newestOf[client.Task], err error) {
	err = out.read(most, func(t client.Task) bool { return client.IsCheck(t) && !checks }, func(limit int, cursor string) (client.Page[client.Task], error) {
		f.Limit, f.Cursor = limit, cursor
		return api.Tasks(ctx, f)
	})
	return out, err
}

// newestTickets reads so many tickets, 0: all of them; with those of `omoi check` only if checks is set.
func newestTickets(ctx context.Context, api *client.Client, most int, checks bool) (out newestOf[client.Ticket], err error) {
	err = out.read(most, func(t client.Ticket) bool { return t.OfCheck && !checks }, func(_ int, cursor string) (client.Page[client.Ticket], error) {
		return api.Tickets(ctx, "", cursor)
	})
	return out, err
}
