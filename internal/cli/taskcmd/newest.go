package taskcmd

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
)

// newestTasks are tasks, newest first.
type newestTasks struct {
	Items []client.Task
	More  bool // there are more than were asked for
	Left  bool // tasks of `omoi check` were left out
}

// newest reads so many tasks, 0: all of them. Those of `omoi check` are left out unless checks is set.
func newest(ctx context.Context, api *client.Client, f client.TaskFilter, most int, checks bool) (newestTasks, error) {
	out := newestTasks{Items: []client.Task{}}
	for {
		f.Limit = pageLimit
		if most > 0 && !out.Left { // behind one there may be many
			f.Limit = min(most+1, pageLimit)
		}
		page, err := api.Tasks(ctx, f)
		if err != nil {
			return out, err
		}
		for _, t := range page.Items {
			switch {
			case client.IsCheck(t) && !checks:
				out.Left = true
			case most > 0 && len(out.Items) == most:
				out.More = true
				return out, nil
			default:
				out.Items = append(out.Items, t)
			}
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			return out, nil
		}
	}
}
