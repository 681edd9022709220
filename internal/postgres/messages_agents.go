package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/task"
)

// MessageBetween answers the sandbox of the agent that another one may write to: of the same
// project, which allows it. to is the id of a sandbox or of a task. [task.CodeForbidden]
// tells nothing about agents elsewhere, not even whether they exist.
func (s *Store) MessageBetween(ctx context.Context, from, to string) (sandboxID string, err error) {
	writer, err := s.q.MessageWriter(ctx, from)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", task.Errorf(task.CodeForbidden, "This agent works on no task of a project; it has nobody to write to.")
	case err != nil:
		return "", translate("find the project of sandbox "+from, err)
	case writer.Ended:
		return "", task.Errorf(task.CodeConflict, "The attempt has ended; its agent writes to nobody any more.")
	case !writer.AgentsMayMessage:
		return "", task.Errorf(task.CodeForbidden,
			"The project %s does not let its agents write to each other. A person allows it: omoi projects set %s --agents-may-message",
			writer.Project, writer.ProjectID)
	}
	ask := s.q.AgentOfSandbox
	if uuidForm.MatchString(to) {
		ask = s.q.AgentOfTask
	}
	sandboxID, err = ask(ctx, to, writer.ProjectID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", task.Errorf(task.CodeForbidden, "There is no agent %q in this project; agents write to agents of their own project only.", clip(to))
	case err != nil:
		return "", translate("find the agent "+clip(to), err)
	case sandboxID == "":
		return "", task.Errorf(task.CodeConflict, "No agent is at work on task %s now.", to)
	case sandboxID == from:
		return "", task.Errorf(task.CodeForbidden, "An agent does not write to itself.")
	}
	return sandboxID, nil
}

// clip keeps what is echoed short.
func clip(s string) string {
	const longest = 60
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest]) + "..."
	}
	return s
}
