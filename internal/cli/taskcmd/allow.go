package taskcmd

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

func newAllow(s *session) *cobra.Command {
	cmd := s.verb("allow <task> [event]", "Allow a refused tool call once", between(1, 2, "a task, and the number of a refusal in omoi logs"), func(ctx context.Context, api *client.Client, args []string) error {
		t, err := s.taskOf(ctx, api, args[0])
		if err != nil {
			return err
		}
		name := render.Name(t.Key, t.ID)
		if t.SandboxID == nil {
			return task.Errorf(task.CodeConflict, "Cannot allow a call of task %s: it has no running attempt. Next: omoi show %s", name, name)
		}
		id, call, err := refusedCall(ctx, api, t, append(args, "")[1])
		if err != nil {
			return err
		}
		queued, err := api.SendMessage(ctx, *t.SandboxID, client.CreateMessageRequest{
			Content: "A user allows this call once, which omoi refused:\n\n" + call + "\n\nRepeat it exactly, if you still need it.", Allows: id,
		}, "") // the event is the key
		if err != nil {
			return err
		}
		return s.answer(queued, nil, func() {
			s.say("Allowed once: %s", render.OneLine(call, 100))
			s.hint("Next: omoi message %s, or omoi logs -f %s", queued.MessageID, name)
		})
	})
	cmd.Long = `Allow a tool call once that omoi refused before it ran (docs/CONTRACTS.md). The agent gets a message, and may repeat
this command in any folder, or one edit of this file.
The event is the number that omoi logs prints with the refusal; without one, the newest refusal counts.`
	cmd.ValidArgsFunction = s.completeTasks
	return cmd
}

// refusedCall returns the event ID of a refusal of the running attempt, with the call. Without an ID, it is the newest one.
func refusedCall(ctx context.Context, api *client.Client, t client.Task, id string) (eventID, call string, err error) {
	if id == "" {
		page, err := api.NewestEvents(ctx, *t.SandboxID, client.EventFilter{Type: event.AgentToolRefused, Limit: 1})
		if err != nil {
			return "", "", err
		}
		if len(page.Events) == 0 {
			return "", "", task.Errorf(task.CodeNotFound, "omoi has refused no call of the running attempt of task %s.", render.Name(t.Key, t.ID))
		}
		id = page.Events[0].ID
	}
	e, err := api.Event(ctx, *t.SandboxID, id)
	refused := event.Read[struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
	}](e.Data)
	return e.ID, cmp.Or(refused.Command, refused.Path), err
}
