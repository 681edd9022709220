package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
)

// Dependencies stores the dependencies between tasks.
type Dependencies interface {
	Dependencies(ctx context.Context, organizationID, taskID string) ([]string, error)
	AddDependencies(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error)
	SetDependencies(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error)
	RemoveDependency(ctx context.Context, organizationID, taskID, dependsOn string) ([]string, error)
	FindCycle(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error)
}

type removeDepIn struct {
	IDPath
	DependsOn string `query:"depends_on" required:"true" doc:"UUID or key of the task that is no longer waited for."`
}

func (a *API) getDependencies(ctx context.Context, in *IDPath) (*bodyOut[client.DependsOn], error) {
	ids, err := a.deps.Dependencies.Dependencies(ctx, callerOf(ctx).organization, in.ID)
	return body(client.DependsOn{TaskIDs: ids}, err)
}

// editDependencies returns the handler of POST and PUT.
func (a *API) editDependencies(
	edit func(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error),
) handler[changeIn[client.DependsOn], bodyOut[client.DependsOn]] {
	return func(ctx context.Context, in *changeIn[client.DependsOn]) (*bodyOut[client.DependsOn], error) {
		ids, err := a.taskIDs(ctx, "depends_on", in.Body.TaskIDs)
		if err != nil {
			return nil, err
		}
		all, err := edit(ctx, callerOf(ctx).organization, in.ID, ids)
		return body(client.DependsOn{TaskIDs: all}, err)
	}
}

func (a *API) removeDependency(ctx context.Context, in *removeDepIn) (*bodyOut[client.DependsOn], error) {
	ids, err := a.taskIDs(ctx, "depends_on", []string{in.DependsOn})
	if err != nil {
		return nil, err
	}
	all, err := a.deps.Dependencies.RemoveDependency(ctx, callerOf(ctx).organization, in.ID, ids[0])
	return body(client.DependsOn{TaskIDs: all}, err)
}

func (a *API) checkCircular(ctx context.Context, in *changeIn[client.DependsOn]) (*bodyOut[client.DependencyCycle], error) {
	ids, err := a.taskIDs(ctx, "depends_on", in.Body.TaskIDs)
	if err != nil {
		return nil, err
	}
	path, err := a.deps.Dependencies.FindCycle(ctx, callerOf(ctx).organization, in.ID, ids)
	return body(client.DependencyCycle{Circular: len(path) > 0, Path: orNone(path)}, err)
}
