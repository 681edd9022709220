package taskcmd

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
)

func newCheckpoints(s *session) *cobra.Command {
	cmd := s.taskVerb("checkpoints <task>", "List a task's checkpoints, newest first", s.checkpoints)
	cmd.Long = `List the checkpoints of all attempts, newest first. A checkpoint holds the files of the workspace after one event: committed,
uncommitted and new ones, but none that Git ignores. The next attempt continues from the newest checkpoint.

EVENT is the number of the event agent.checkpoint. TOOL CALL is the last completed one. FILES and SIZE count the files that
differ from the commit. NOTES says what is special and what is missing. "torn": files changed while omoi-agent read them.`
	return cmd
}

func (s *session) checkpoints(ctx context.Context, api *client.Client, t client.Task) error {
	found, err := api.Checkpoints(ctx, t.ID)
	return s.answer(client.Page[client.Checkpoint]{Items: found}, err, func() {
		none := "The task has no checkpoints. Next: omoi work " + render.Name(t.Key, t.ID)
		list(s, found, none, "CHECKPOINT|TAKEN|EVENT|TOOL CALL|FILES|SIZE|NOTES", func(c client.Checkpoint) []string {
			return []string{
				c.ID, c.TakenAt.Local().Format(time.DateTime), count(c.Sequence), render.OneLine(cmp.Or(c.ToolCall, "-"), longestCall),
				count(int64(c.Files)), render.Bytes(c.Bytes), checkpointNotes(c),
			}
		})
	})
}

// longestCall is the number of shown characters of the ID of a tool call: those of Claude Code have 30.
const longestCall = 30

// checkpointNotes names what is special about a checkpoint.
func checkpointNotes(c client.Checkpoint) string {
	const longest = 200
	var notes []string
	if c.Torn {
		notes = append(notes, "torn")
	}
	if c.GitState {
		notes = append(notes, "merge or rebase in progress")
	}
	if c.RunningCall != "" {
		notes = append(notes, c.RunningCall+" was running")
	}
	if c.FilesOnly {
		notes = append(notes, "files newer than the session")
	}
	for _, one := range c.LeftOut {
		notes = append(notes, "left out: "+strings.TrimRight(one, "."))
	}
	return render.OneLine(cmp.Or(strings.Join(notes, "; "), "-"), longest)
}
