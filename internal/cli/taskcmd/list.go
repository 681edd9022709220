package taskcmd

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
)

const pageLimit = 500

// listed is a list of items, newest first.
type listed[T any] struct {
	Items []T
	More  bool // more items exist
	Left  bool // items were skipped
}

// collect reads pages until it has most items; 0 reads all. Items for which skip returns true are left out; skip may be
// nil.
func collect[T any](most int, skip func(T) bool, page func(limit int, cursor string) (client.Page[T], error)) (listed[T], error) {
	out := listed[T]{Items: []T{}}
	for cursor := ""; ; {
		limit := pageLimit
		if most > 0 && !out.Left { // many items may follow a skipped one: read whole pages
			limit = min(most+1, pageLimit)
		}
		got, err := page(limit, cursor)
		if err != nil {
			return out, err
		}
		for _, one := range got.Items {
			switch {
			case skip != nil && skip(one):
				out.Left = true
			case most > 0 && len(out.Items) == most:
				out.More = true
				return out, nil
			default:
				out.Items = append(out.Items, one)
			}
		}
		if got.NextCursor == nil {
			return out, nil
		}
		cursor = *got.NextCursor
	}
}

// newest reads up to most tasks; 0 reads all. Tasks of omoi check are included only if checks is set.
func newest(ctx context.Context, api *client.Client, f client.TaskFilter, most int, checks bool) (listed[client.Task], error) {
	skip := func(t client.Task) bool { return client.IsCheck(t) && !checks }
	return collect(most, skip, func(limit int, cursor string) (client.Page[client.Task], error) {
		f.Limit, f.Cursor = limit, cursor
		return api.Tasks(ctx, f)
	})
}

// newestTickets reads up to most tickets; 0 reads all. Tickets of omoi check are included only if checks is set.
func newestTickets(ctx context.Context, api *client.Client, most int, checks bool) (listed[client.Ticket], error) {
	skip := func(t client.Ticket) bool { return t.IsCheck && !checks }
	return collect(most, skip, func(_ int, cursor string) (client.Page[client.Ticket], error) { return api.Tickets(ctx, "", cursor) })
}

// AllProjects returns the projects of the caller's organization, newest first.
func AllProjects(api *client.Client, ctx context.Context) ([]client.Project, error) { //nolint:revive // the order of method expressions
	all, err := collect(0, nil, func(_ int, cursor string) (client.Page[client.Project], error) { return api.Projects(ctx, cursor) })
	return all.Items, err
}

// listBoxes reads up to most sandboxes; 0 reads all.
func listBoxes(ctx context.Context, api *client.Client, f client.SandboxFilter, most int) ([]client.Sandbox, error) {
	all, err := collect(most, nil, func(limit int, cursor string) (client.Page[client.Sandbox], error) {
		f.Limit, f.Cursor = limit, cursor
		return api.Sandboxes(ctx, f)
	})
	return all.Items, err
}
