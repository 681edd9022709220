package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// ProjectDeletion returns what [Store.DeleteProject] would delete and keep, and the tasks that prevent the deletion.
func (s *Store) ProjectDeletion(ctx context.Context, organizationID, id string) (client.ProjectDeletion, error) {
	row, err := s.q.ProjectByID(ctx, organizationID, id)
	if err != nil {
		return client.ProjectDeletion{}, missing(translate("read project "+id, err), "There is no project %s.", id)
	}
	d, err := deletionOf(ctx, s.q, row)
	return d, translate("preview the deletion of project "+id, err)
}

// DeleteProject marks a project as deleted and deletes its credentials. Its tasks, receipts and costs stay.
// [task.CodeConflict] names open tasks.
func (s *Store) DeleteProject(ctx context.Context, organizationID, id string) error {
	err := s.inTx(ctx, func(q *db.Queries) error {
		row, err := q.LockProject(ctx, organizationID, id)
		if err != nil {
			return err
		}
		d, err := deletionOf(ctx, q, row)
		if err != nil {
			return err
		}
		if len(d.OpenTasks) > 0 {
			return stillOpen(d)
		}
		if err := q.DropProjectCredentials(ctx, &id); err != nil {
			return err
		}
		return q.MarkProjectDeleted(ctx, id)
	})
	return missing(translate("delete project "+id, err), "There is no project %s.", id)
}

func deletionOf(ctx context.Context, q *db.Queries, row db.Project) (client.ProjectDeletion, error) {
	open, err := q.ProjectOpenTasks(ctx, row.ID)
	if err != nil {
		return client.ProjectDeletion{}, err
	}
	has, err := q.ProjectContents(ctx, row.ID)
	return client.ProjectDeletion{
		Project: projectOf(row), Tasks: has.Tasks, Tickets: has.Tickets, Credentials: has.Credentials,
		OpenTasks: mapAll(open, func(t db.ProjectOpenTasksRow) client.OpenTask {
			return client.OpenTask{ID: t.ID, Key: t.Key, Title: t.Title, Status: task.Status(t.Status)}
		}),
	}, err
}

// stillOpen returns the error with the first open tasks of a project.
func stillOpen(d client.ProjectDeletion) error {
	const most = 10
	var named []string
	for _, t := range d.OpenTasks[:min(len(d.OpenTasks), most)] {
		state := string(t.Status)
		if t.Status.Final() {
			state += ", its sandbox is being deleted"
		}
		named = append(named, t.ID+" ("+state+")")
	}
	if more := len(d.OpenTasks) - most; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return task.Errorf(task.CodeConflict, "Project %s has open tasks: %s. Next, for each: omoi cancel <task>",
		d.Project.Name, strings.Join(named, "; ")).WithKind(task.KindOpenTasks)
}
