package api

import (
	"context"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/internal/task"
)

// References resolves keys of objects.
type References interface {
	// IDByKey returns [task.CodeNotFound] for a key that the organization does not have.
	IDByKey(ctx context.Context, organizationID, key string) (id string, err error)
}

// noID is a valid ID that no object has.
const noID = "00000000-0000-0000-0000-000000000000"

// idOf returns the ID of the object with a key in the caller's organization, and any other reference unchanged.
func (a *API) idOf(ctx context.Context, kind, ref string) (string, error) {
	key, ok := task.KeyOf(kind, ref)
	if !ok {
		return ref, nil
	}
	organization, err := a.organizationOf(ctx, callerOf(ctx))
	if err != nil {
		return "", err
	}
	id, err := a.deps.References.IDByKey(ctx, organization, key)
	if task.CodeOf(err) == task.CodeNotFound {
		err = task.Errorf(task.CodeNotFound, "There is no %s %s.", kind, key)
	}
	return id, err
}

// idIn is idOf for a field of a body: [task.CodeInvalid] with the field for an unknown key.
func (a *API) idIn(ctx context.Context, field, kind string, ref *string) error {
	id, err := a.idOf(ctx, kind, *ref)
	*ref = id
	return invalidIfMissing(field, err)
}

// invalidIfMissing returns [task.CodeInvalid] for the field that names an unknown object.
func invalidIfMissing(field string, err error) error {
	if task.CodeOf(err) == task.CodeNotFound {
		return task.Invalid(field, "%s", task.MessageOf(err))
	}
	return err
}

// agentOrKey is idOf for references that may be agent IDs. An agent ID may look like a key, so an unknown key stays
// unchanged.
func (a *API) agentOrKey(ctx context.Context, ref string, kinds ...string) (string, error) {
	for _, kind := range kinds {
		id, err := a.idOf(ctx, kind, ref)
		if task.CodeOf(err) == task.CodeNotFound {
			continue
		}
		if err != nil || id != ref {
			return id, err
		}
	}
	return ref, nil
}

// idKinds returns the kinds of objects that have UUIDs, by the path segment before the ID.
func idKinds() map[string]string {
	return map[string]string{
		"tasks": task.KeyedTask, "projects": task.KeyedProject, "tickets": task.KeyedTicket, "commands": "command", "api-keys": "API key",
		"organizations": "organization", "questions": "question", "notice-rules": "notice rule",
		"interventions": "intervention", "actions": "action", "messages": "message", "access-sessions": "access session",
	}
}

// filterKinds returns the kinds of objects that query parameters select by ID.
func filterKinds() map[string]string {
	return map[string]string{
		"id": task.KeyedTask, "task_id": task.KeyedTask, "target_entity": task.KeyedTask, "project_id": task.KeyedProject, "ticket_id": task.KeyedTicket,
	}
}

// resolve returns the middleware that replaces keys in path and query by IDs. It responds with [task.CodeNotFound] to
// an invalid ID or unknown key in the path.
func (a *API) resolve(f *form, path string) func(huma.Context, func(huma.Context)) {
	found := idInPath.FindAllStringSubmatch(path, -1)
	return func(ctx huma.Context, next func(huma.Context)) {
		limited, cancel := a.limited(ctx.Context())
		defer cancel()
		c := humagin.Unwrap(ctx)
		err := a.resolveQuery(limited, f, c.Request.URL)
		for _, part := range found {
			if kind := idKinds()[part[1]]; kind != "" && err == nil {
				err = a.resolveParam(limited, c.Params, kind, part[2])
			}
		}
		if err != nil {
			a.refuse(ctx, err)
			return
		}
		next(ctx)
	}
}

// resolveParam replaces the key in one segment of the path.
func (a *API) resolveParam(ctx context.Context, params gin.Params, kind, name string) error {
	n := slices.IndexFunc(params, func(p gin.Param) bool { return p.Key == name })
	id, err := a.idOf(ctx, kind, params[n].Value)
	if err != nil {
		return err
	}
	params[n].Value = id
	return knownID(kind, id)
}

// resolveQuery replaces the keys in filters. An unknown key selects nothing, like an unknown ID.
func (a *API) resolveQuery(ctx context.Context, f *form, u *url.URL) error {
	if u.RawQuery == "" {
		return nil
	}
	query := u.Query()
	for name, kind := range filterKinds() {
		if _, known := f.params[name]; !known {
			continue // a legacy route ignores it
		}
		for n, ref := range query[name] {
			id, err := a.idOf(ctx, kind, ref)
			if task.CodeOf(err) == task.CodeNotFound {
				id, err = noID, nil
			}
			if err != nil {
				return err
			}
			query[name][n] = id
		}
	}
	u.RawQuery = query.Encode()
	return nil
}
