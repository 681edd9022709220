package taskcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newAnswer(s *session) *cobra.Command {
	cmd := s.verb("answer <task> [\"<text>\"]", "Answer the question of an agent, or show its questions", cobra.RangeArgs(1, 2),
		func(ctx context.Context, api *client.Client, args []string) error {
			t, err := s.taskOf(ctx, api, args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return s.showQuestions(ctx, api, t)
			}
			return s.answerQuestion(ctx, api, t, args[1])
		})
	cmd.Long = `Answer the open question of a task's agent (docs/QUESTIONS.md). The first answer counts. A suspended task resumes, and its next
attempt continues with the files and the session of the moment of the question. Without a text, the questions of the task are listed.`
	cmd.ValidArgsFunction = s.completeTasks
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 2 && strings.TrimSpace(args[1]) == "" {
			return exit.Usagef("the answer is empty. Next: omoi answer %s \"<text>\"", args[0])
		}
		return nil
	}
	return cmd
}

func (s *session) showQuestions(ctx context.Context, api *client.Client, t client.Task) error {
	all, err := api.TaskQuestions(ctx, t.ID)
	return s.answer(all, err, func() {
		list(s, all, "The agent has asked nothing.", "STATE|ASKED|QUESTION|ANSWER", func(q client.Question) []string {
			return []string{q.State, moment(&q.AskedAt), render.OneLine(render.Question(q.Text, q.Options), 80), render.OneLine(q.Answer, 40)}
		})
		if t.Question != nil {
			s.hint("Next: omoi answer %s \"<text>\"", render.Name(t.Key, t.ID))
		}
	})
}

// answerQuestion answers the open question.
func (s *session) answerQuestion(ctx context.Context, api *client.Client, t client.Task, text string) error {
	answered, err := api.AnswerTask(ctx, t, text)
	if closed, ok := client.ClosedQuestion(err); ok {
		s.note("%s", closedNote(closed))
	}
	return s.answer(answered, err, func() {
		s.say("Answered: %s", render.OneLine(answered.Text, 80))
		s.hint("Next: omoi logs -f %s", render.Name(t.Key, t.ID))
	})
}

// closedNote says what became of a question.
func closedNote(q client.Question) string {
	if q.State == task.QuestionAnswered {
		return q.AnsweredBy + " answered: " + render.OneLine(q.Answer, 200)
	}
	return render.Clean(q.Reason)
}
