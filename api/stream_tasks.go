package api

import (
	"context"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
)

// tasksStreamText describes the stream of a list.
const tasksStreamText = "Server-sent events for programs that show a list of tasks. `hello` comes first: read the list then. `task` holds a " +
	"task as lists show it, after each change, at most four times a second. `reset` says that changes were left out: read the list again. " +
	"The stream has no past and no cursor: after a lost connection, connect again, and read the list after `hello`. A change that notifies " +
	"nobody, for example of a queue position, comes within 15 s. Comments every 15 s show that the stream is open. It ends with the credential."

type tasksStreamIn struct {
	ProjectIDs []string `query:"project_id,explode" doc:"Only tasks of one of these projects; default: all."`
}

func (a *API) tasksStream(ctx context.Context, in *tasksStreamIn) (*huma.StreamResponse, error) {
	organization, projects := callerOf(ctx).organization, slices.DeleteFunc(in.ProjectIDs, func(id string) bool { return id == "" })
	f := feed{kind: kindTasks, access: accessRead}
	f.follow = func(ctx context.Context, f feed, out *eventWriter) error {
		return a.followTasks(ctx, f, out, a.watches.join(ctx, organization, projects))
	}
	return a.stream(f), nil //nolint:contextcheck // the context of the request comes with the body
}

// followTasks sends the tasks that change, until the reader leaves or the server stops.
func (a *API) followTasks(ctx context.Context, f feed, out *eventWriter, r *taskReader) error {
	defer r.leave()
	if err := out.open(""); err != nil {
		return err
	}
	defer f.opened()()
	p := newPulse(a, out)
	defer p.beat.Stop()
	for greeted := false; ; {
		if err := a.recheck(ctx, f, p); err != nil {
			return err
		}
		frames, ready := r.take()
		if ready && !greeted {
			greeted = true
			if err := out.named("hello", client.TasksHello{ServerVersion: a.cfg.Version, SentAt: time.Now().UTC()}); err != nil {
				return err
			}
		}
		if len(frames) > 0 {
			p.beat.Reset(a.cfg.StreamBeat)
			if err := out.send(frames); err != nil {
				return err
			}
		}
		if err := p.wait(ctx, r.news); err != nil {
			return err
		}
	}
}
