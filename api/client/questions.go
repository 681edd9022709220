package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/omoi-dev/omoi/internal/task"
)

// Question is what an agent asks a user.
type Question = task.Question

// QuestionQuery selects questions, newest first.
type QuestionQuery struct {
	TaskIDs []string `query:"task_id,explode" doc:"Only questions of these tasks; repeat for several. Absent: all tasks."`
	States  []string `query:"state,explode" enum:"open,answered,cancelled,expired" doc:"Only questions in these states; repeat for several. Absent: all."`
	PageRequest
}

// AnswerRequest is the body of POST /api/v1/questions/{id}/answer.
type AnswerRequest struct {
	Answer string `json:"answer" minLength:"1" maxLength:"16000" doc:"The answer: one of the options, or any text."`
}

// TaskQuestions returns the newest questions of a task, newest first.
func (c *Client) TaskQuestions(ctx context.Context, taskID string) ([]Question, error) {
	page, err := answer[Page[Question]](ctx, c, call{path: prefix + "/questions", query: url.Values{"task_id": {taskID}}})
	return page.Items, err
}

// AnswerTask answers the open question of a task. Without one it asks the server about the newest, whose error says what became of it.
// [task.CodeConflict] if the agent has asked nothing.
func (c *Client) AnswerTask(ctx context.Context, t Task, text string) (Question, error) {
	q := t.Question
	if q == nil {
		all, err := c.TaskQuestions(ctx, t.ID)
		if err != nil {
			return Question{}, err
		}
		if len(all) == 0 {
			return Question{}, task.Errorf(task.CodeConflict, "The agent has asked nothing. Next: omoi send %s \"<text>\"", cmp.Or(t.Key, t.ID))
		}
		q = &all[0]
	}
	return c.AnswerQuestion(ctx, q.ID, text)
}

// AnswerQuestion answers a question. The error of a question that is not open has the kind [task.KindQuestionClosed]; see [ClosedQuestion].
func (c *Client) AnswerQuestion(ctx context.Context, id, text string) (Question, error) {
	return answer[Question](ctx, c, call{method: http.MethodPost, path: item("questions", id, "answer"), body: AnswerRequest{Answer: text}})
}

// ClosedQuestion returns the question of an error that says that it is not open.
func ClosedQuestion(err error) (Question, bool) {
	closed, ok := errors.AsType[*closedError](err)
	if !ok {
		return Question{}, false
	}
	return closed.question, true
}

type closedError struct{ question Question }

func (e *closedError) Error() string { return "question " + e.question.ID + " is " + e.question.State }
