package taskcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/feedback"
)

// feedbackOf is what was said from outside of a task's pull request; nil if nothing was, or this server knows nothing of it.
func feedbackOf(ctx context.Context, api *client.Client, t client.Task) *feedback.Story {
	if t.PullURL == nil {
		return nil
	}
	story, err := api.TaskFeedback(ctx, t.ID)
	if err != nil || len(story.Items) == 0 && story.PullState == "" && story.Follows == "" {
		return nil // it is a comfort
	}
	return &story
}

// mostShown is how many pieces of feedback show tells of.
const mostShown = 10

func (s *session) showFeedback(story *feedback.Story, id string) {
	if story == nil {
		return
	}
	s.say("")
	s.row("Follow-up of", suffix("task ", story.Follows))
	s.row("On GitHub", suffix("pull request ", story.PullState))
	items := story.Items
	if more := len(items) - mostShown; more > 0 {
		s.row("Feedback", fmt.Sprintf("the newest %d of %d", mostShown, len(items)))
		items = items[more:]
	}
	list(s, items, "", "FEEDBACK|NOTE|RESULT", func(i feedback.Item) []string {
		return []string{"  " + i.At.Local().Format("01-02 15:04"), render.OneLine(i.Note, 70), doneAbout(i, id)}
	})
}

// doneAbout says what became of a piece of feedback, as one looks at the task id.
func doneAbout(i feedback.Item, id string) string {
	whose := "task " + i.TaskID
	if i.TaskID == id {
		whose = "this task"
	}
	switch i.State {
	case feedback.StateSent:
		return "sent to the agent of " + whose
	case feedback.StateHeard:
		return "acknowledged by the agent of " + whose
	case feedback.StateStarted:
		return "started " + whose
	case feedback.StateHeld:
		return render.OneLine(strings.TrimSuffix("waits: "+i.Reason, ": "), 90)
	}
	return render.OneLine("ignored: "+i.Reason, 90)
}
