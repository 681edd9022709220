package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// Questions stores the questions of agents and their answers.
type Questions interface {
	Questions(ctx context.Context, organizationID string, q client.QuestionQuery) (client.Page[task.Question], error)
	// AnswerQuestion stores the first answer. [task.CodeConflict] with the question if it is not open.
	AnswerQuestion(ctx context.Context, a task.Answer) (task.Question, error)
}

func (a *API) registerQuestions() {
	g := a.group(tagTasks, "/api/v1/questions")
	add(g.on(accessRead, "GET", "list-questions", "List questions"), listed(a.deps.Questions.Questions),
		details{more: "What agents ask users, newest first, with the answers."})
	add(g.on(accessWrite, "POST /{id}/answer", "answer-question", "Answer a question"), a.answerQuestion, details{
		more: "The first answer counts: a running agent gets it as a message, a suspended task resumes, and the next attempt continues with " +
			"the files and the session of the moment of the question. 409 with the question and its first answer if the question is not open.",
	})
}

func (a *API) answerQuestion(ctx context.Context, in *changeIn[client.AnswerRequest]) (*bodyOut[task.Question], error) {
	who := callerOf(ctx)
	q, err := a.deps.Questions.AnswerQuestion(ctx, task.Answer{
		OrganizationID: who.organization, QuestionID: in.ID, Text: in.Body.Answer, By: who.name,
	})
	if task.KindOf(err) == task.KindQuestionClosed {
		return nil, &closedError{err: err, question: q}
	}
	if err == nil {
		a.deps.Bus.Wake(live.Messages(q.SandboxID))
		a.deps.Bus.Wake(live.Task(q.TaskID))
	}
	return body(q, err)
}

// closedError is the error of an answer to a question that is not open.
type closedError struct {
	err      error
	question task.Question
}

func (e *closedError) Error() string { return e.err.Error() }
func (e *closedError) Unwrap() error { return e.err }
