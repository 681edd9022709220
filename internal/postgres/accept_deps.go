package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Dependencies returns the IDs of the tasks that must be completed before the task starts.
func (s *Store) Dependencies(ctx context.Context, organizationID, taskID string) ([]string, error) {
	if _, err := s.TaskStatus(ctx, organizationID, taskID); err != nil {
		return nil, err
	}
	ids, err := s.q.Dependencies(ctx, taskID)
	return ids, translate("read the dependencies of task "+taskID, err)
}

// AddDependencies adds dependencies and returns all. Errors: [task.CodeInvalid] for unknown IDs and for cycles,
// [task.CodeConflict] if the task is not pending.
func (s *Store) AddDependencies(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error) {
	return s.editDependencies(ctx, organizationID, taskID, func(q *db.Queries) error {
		return addDependencies(ctx, q, organizationID, taskID, ids)
	})
}

// SetDependencies replaces all dependencies; errors as of AddDependencies.
func (s *Store) SetDependencies(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error) {
	return s.editDependencies(ctx, organizationID, taskID, func(q *db.Queries) error {
		if err := q.DeleteDependencies(ctx, taskID, ids); err != nil {
			return err
		}
		return addDependencies(ctx, q, organizationID, taskID, ids)
	})
}

// RemoveDependency removes a dependency. A missing dependency is not an error.
func (s *Store) RemoveDependency(ctx context.Context, organizationID, taskID, dependsOn string) ([]string, error) {
	return s.editDependencies(ctx, organizationID, taskID, func(q *db.Queries) error {
		return q.DeleteDependency(ctx, taskID, dependsOn)
	})
}

// FindCycle returns the cycle that the new dependencies would create, as task IDs with the first ID repeated at the
// end; nil if there is none.
func (s *Store) FindCycle(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error) {
	if _, err := s.TaskStatus(ctx, organizationID, taskID); err != nil {
		return nil, err
	}
	if err := knownTasks(ctx, s.q, organizationID, ids); err != nil {
		return nil, translate("look up dependencies", err)
	}
	cycle, err := findCycle(ctx, s.q, taskID, ids)
	return cycle, translate("search a dependency cycle", err)
}

// editDependencies runs edit on a pending task, then admission. A lock of the organization serializes edits.
func (s *Store) editDependencies(ctx context.Context, organizationID, taskID string, edit func(*db.Queries) error) ([]string, error) {
	ids, err := txResult(ctx, s, func(q *db.Queries) ([]string, error) {
		if err := q.LockDependencies(ctx, organizationID); err != nil {
			return nil, err
		}
		row, err := q.LockTask(ctx, organizationID, taskID)
		if err != nil {
			return nil, missing(translate("lock the task", err), "There is no task %s.", taskID)
		}
		if row.Status != string(task.StatusPending) {
			return nil, task.Errorf(task.CodeConflict, "Cannot change dependencies: the task is %s, not pending.", row.Status).WithKind(task.KindInvalidState)
		}
		if err := edit(q); err != nil {
			return nil, err
		}
		if err := admitAll(ctx, q, organizationID); err != nil {
			return nil, err
		}
		return q.Dependencies(ctx, taskID)
	})
	return ids, translate("change the dependencies of task "+taskID, err)
}

func addDependencies(ctx context.Context, q *db.Queries, organizationID, taskID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := knownTasks(ctx, q, organizationID, ids); err != nil {
		return err
	}
	cycle, err := findCycle(ctx, q, taskID, ids)
	if err != nil {
		return err
	}
	if cycle != nil {
		return task.Invalid("dependencies.depends_on", "The dependencies would form a cycle: %s.", strings.Join(cycle, " -> "))
	}
	return q.InsertDependencies(ctx, taskID, ids)
}

// knownTasks returns [task.CodeInvalid] if the organization does not have one of the tasks.
func knownTasks(ctx context.Context, q *db.Queries, organizationID string, ids []string) error {
	known, err := q.KnownTasks(ctx, organizationID, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return task.Invalid("dependencies.depends_on", "Unknown task %s in depends_on.", id)
		}
	}
	return nil
}

// findCycle reads all dependencies that are reachable from ids, and searches a path to the task.
func findCycle(ctx context.Context, q *db.Queries, taskID string, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := q.DependencyPath(ctx, ids)
	if err != nil {
		return nil, err
	}
	edges := map[string][]string{}
	for _, row := range rows {
		edges[row.TaskID] = append(edges[row.TaskID], row.DependsOn)
	}
	edges[taskID] = ids
	return cycleFrom(taskID, edges), nil
}

// cycleFrom searches edges depth first and returns the first path from start back to start; nil if there is none.
func cycleFrom(start string, edges map[string][]string) []string {
	visited := map[string]bool{}
	var walk func(id string) []string
	walk = func(id string) []string {
		for _, next := range edges[id] {
			if next == start {
				return []string{id, start}
			}
			if visited[next] {
				continue
			}
			visited[next] = true
			if rest := walk(next); rest != nil {
				return append([]string{id}, rest...)
			}
		}
		return nil
	}
	return walk(start)
}
