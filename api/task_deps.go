package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/live"
)

type depsIn struct {
	TaskPath
	Body client.DependsOn
}

type removeDepIn struct {
	TaskPath
	DependsOn string `query:"depends_on" required:"true" doc:"Id of the task to depend on no longer"`
}

type depsOut struct {
	Body client.DependsOn
}

type cycleOut struct {
	Body client.Cycle
}

func (a *API) getDependencies(ctx context.Context, in *TaskPath) (*depsOut, error) {
	if err := knownID("task", in.ID); err != nil {
		return nil, err
	}
	ids, err := a.deps.Store.Dependencies(ctx, callerOf(ctx).organization, in.ID)
	return &depsOut{Body: client.DependsOn{TaskIDs: ids}}, err
}

type editDeps func(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error)

// editDependencies makes the handler of POST and PUT.
func (a *API) editDependencies(edit editDeps) func(context.Context, *depsIn) (*depsOut, error) {
	return func(ctx context.Context, in *depsIn) (*depsOut, error) {
		ids, err := in.ids()
		if err != nil {
			return nil, err
		}
		all, err := edit(ctx, callerOf(ctx).organization, in.ID, ids)
		a.deps.Bus.Wake(live.Relay) // the gate may have let it in
		return &depsOut{Body: client.DependsOn{TaskIDs: all}}, err
	}
}

func (in *depsIn) ids() ([]string, error) {
	if err := knownID("task", in.ID); err != nil {
		return nil, err
	}
	return checkIDs("depends_on", in.Body.TaskIDs)
}

func (a *API) removeDependency(ctx context.Context, in *removeDepIn) (*depsOut, error) {
	if err := knownID("task", in.ID); err != nil {
		return nil, err
	}
	ids, err := checkIDs("depends_on", []string{in.DependsOn})
	if err != nil {
		return nil, err
	}
	all, err := a.deps.Store.RemoveDependency(ctx, callerOf(ctx).organization, in.ID, ids[0])
	a.deps.Bus.Wake(live.Relay)
	return &depsOut{Body: client.DependsOn{TaskIDs: all}}, err
}

func (a *API) checkCircular(ctx context.Context, in *depsIn) (*cycleOut, error) {
	ids, err := in.ids()
	if err != nil {
		return nil, err
	}
	path, err := a.deps.Store.FindCycle(ctx, callerOf(ctx).organization, in.ID, ids)
	if path == nil {
		path = []string{}
	}
	return &cycleOut{Body: client.Cycle{Circular: len(path) > 0, Path: path}}, err
}
