package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// MessageBetween returns the sandbox of the agent to which the agent in the sandbox from may write. Both must work on
// one project that allows messages between agents. to is the ID of a sandbox, a task or an agent. [task.CodeForbidden]
// does not reveal whether an agent of another project exists.
func (s *Store) MessageBetween(ctx context.Context, from, to string) (sandboxID string, err error) {
	writer, found, err := maybe(s.q.MessageWriter(ctx, from))
	switch {
	case err == nil && !found:
		return "", task.Errorf(task.CodeForbidden, "Cannot send the message: the agent works on no task of a project.")
	case err != nil:
		return "", translate("find the project of sandbox "+from, err)
	case writer.Ended:
		return "", task.Errorf(task.CodeConflict, "Cannot send the message: the attempt of the sending agent has ended.").WithKind(task.KindInvalidState)
	case !writer.AgentsMayMessage:
		return "", task.Errorf(task.CodeForbidden,
			"Project %s does not allow messages between agents. Next: a user runs omoi project update %s --allow-agent-messages",
			writer.Project, writer.ProjectID)
	}
	sandboxID, err = s.agentIn(ctx, writer, to)
	switch {
	case task.CodeOf(err) == task.CodeNotFound:
		return "", task.Errorf(task.CodeForbidden, "Unknown agent %q in this project: agents may only write to agents of their project.", clip(to))
	case err != nil:
		return "", translate("find the agent "+clip(to), err)
	case sandboxID == "":
		return "", task.Errorf(task.CodeConflict, "Cannot send the message: task %s has no running attempt.", to).WithKind(task.KindInvalidState)
	case sandboxID == from:
		return "", task.Errorf(task.CodeForbidden, "Cannot send the message: sender and recipient are the same agent.")
	}
	return sandboxID, nil
}

// agentIn returns the sandbox of an agent in the writer's project; empty for a task between attempts.
func (s *Store) agentIn(ctx context.Context, writer db.MessageWriterRow, to string) (string, error) {
	ask := s.q.AgentOfSandbox
	if uuidForm.MatchString(to) {
		ask = s.q.AgentOfTask
	}
	if sandboxID, found, err := maybe(ask(ctx, to, writer.ProjectID)); found || err != nil {
		return sandboxID, err
	}
	return resolve(ctx, s.q, db.ActiveByAnyIDParams{OrganizationID: *writer.OrganizationID, ID: to, ProjectID: writer.ProjectID})
}

// clip shortens a text that an error repeats.
func clip(s string) string {
	const longest = 60
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest]) + "..."
	}
	return s
}
