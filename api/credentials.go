package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

// Credentials stores the credentials of agents and of Git access.
type Credentials interface {
	Set(ctx context.Context, p credential.Place, v credential.Value) (credential.Credential, error)
	Remove(ctx context.Context, p credential.Place) error
	List(ctx context.Context, w credential.Who) ([]credential.Credential, error)
	Test(ctx context.Context, w credential.Who, name string, number int) (credential.Test, error)
	Rotate(ctx context.Context) (credential.Rotation, error)
}

func (a *API) registerCredentials() {
	all := a.group(tagCredentials, "/api/v1")
	add(all.on(accessRead, "GET /credentials", "list-credentials", "List credentials"), a.listCredentials,
		details{
			more:  "Credentials of the caller, and of projects, organization and configuration, without secrets.",
			fails: []int{http.StatusGone},
		})
	add(all.on(accessWrite, "PUT /credentials/{kind}", "set-credential", "Set a credential"), a.setCredential,
		details{more: "Creates or replaces the credential of a kind, owner and number. Running sandboxes keep the old one."})
	add(all.on(accessWrite, "DELETE /credentials/{kind}", "delete-credential", "Delete a credential"),
		a.removeCredential, details{
			more:   "Tasks then use the next number, else the next one in the order user, project, organization, server. Running sandboxes keep theirs.",
			status: http.StatusNoContent,
		})
	add(all.on(accessWrite, "POST /credentials/{kind}/test", "test-credential", "Test a credential"), a.testCredential,
		details{more: "Asks the provider, at no cost, whether the credential works that a task of the caller would use."})
	add(all.on(accessAdmin, "POST /credentials/rotate", "rotate-credentials", "Re-encrypt all credentials"),
		a.rotateCredentials, details{more: "Re-encrypts all credentials and task envs of the installation with its first key."})
}

// checkNames rejects invalid names of credentials.
func checkNames(names []string) error {
	const field, most = "execution_config.credentials", 20
	if len(names) > most {
		return task.Invalid(field, "The %s names %d credentials: at most %d are allowed.", field, len(names), most)
	}
	for _, name := range names {
		if err := credential.CheckKind(name); err != nil && name != credential.Model {
			return task.Invalid(field,
				"Invalid credential %q in %s: expected model, anthropic, claude_oauth, github, or the name of another model "+
					"provider in lower case.",
				clip(name), field)
		}
	}
	return nil
}

// whoOf returns the user on whose behalf a caller acts.
func whoOf(c caller) credential.Who {
	return credential.Who{OrganizationID: c.organization, UserID: c.user}
}

// placeOf returns whose credential a request names. Users change their own; others require the scope admin.
func placeOf(who caller, kind, scope, projectID string, number int) (credential.Place, error) {
	p := credential.Place{Who: whoOf(who), Kind: kind, Number: number}
	scope = cmp.Or(scope, credential.ScopeUser)
	switch {
	case scope == credential.ScopeProject && !isID(projectID):
		return p, task.Invalid("project_id", "Missing project_id: the scope project needs it.")
	case scope != credential.ScopeProject && projectID != "":
		return p, task.Invalid("project_id", "Unexpected project_id: only the scope project takes one.")
	case scope == credential.ScopeUser && who.user == "":
		return p, task.Errorf(task.CodeForbidden,
			"The caller has no user, and so no credentials of its own. Next: use an API key of a user")
	case scope == credential.ScopeUser:
		return p, nil
	}
	p.UserID, p.ProjectID = "", projectID
	return p, enough(who, accessAdmin)
}

// KindPath is the kind of a credential in a path.
type KindPath struct {
	Kind string `path:"kind" doc:"anthropic, claude_oauth, github, or another model provider in small letters, for example openai."`
}

type setCredentialIn struct {
	KindPath
	Body client.SetCredentialRequest
}

func (a *API) setCredential(ctx context.Context, in *setCredentialIn) (*bodyOut[client.Credential], error) {
	if err := a.idIn(ctx, "project_id", task.KeyedProject, &in.Body.ProjectID); err != nil {
		return nil, err
	}
	p, err := placeOf(callerOf(ctx), in.Kind, in.Body.Scope, in.Body.ProjectID, in.Body.Number)
	if err != nil {
		return nil, err
	}
	return body(a.deps.Credentials.Set(ctx, p, credential.Value{
		Secret: in.Body.Secret, Bearer: in.Body.Bearer, BaseURL: in.Body.BaseURL, Models: in.Body.Models,
	}))
}

func (a *API) listCredentials(ctx context.Context, in *client.PageRequest) (*pageOut[client.Credential], error) {
	all, err := a.deps.Credentials.List(ctx, whoOf(callerOf(ctx)))
	return whole(*in, func(c client.Credential) string {
		return fmt.Sprint(c.Scope, " ", c.ProjectID, " ", c.Kind, " ", c.Number)
	}, all, err)
}

type removeCredentialIn struct {
	KindPath
	Scope     string `query:"scope" enum:"user,project,organization" doc:"Owner of the credential; project and organization need the scope admin. Default: user, the caller."`
	ProjectID string `query:"project_id" doc:"ID or key of the owning project; required with the scope project, rejected with others."`
	Number    int    `query:"number" default:"1" minimum:"1" maximum:"9" doc:"Number of the credential among those of this owner and kind."`
}

func (a *API) removeCredential(ctx context.Context, in *removeCredentialIn) (*struct{}, error) {
	p, err := placeOf(callerOf(ctx), in.Kind, in.Scope, in.ProjectID, in.Number)
	if err != nil {
		return nil, err
	}
	return nil, a.deps.Credentials.Remove(ctx, p)
}

type testCredentialIn struct {
	Kind string `path:"kind" doc:"anthropic, claude_oauth, github or another model provider; model: claude_oauth or anthropic, whichever is found first."`
	Body client.TestCredentialRequest
}

func (a *API) testCredential(ctx context.Context, in *testCredentialIn) (*bodyOut[credential.Test], error) {
	who := whoOf(callerOf(ctx))
	if in.Body.ProjectID != "" {
		id, err := a.idOf(ctx, task.KeyedProject, in.Body.ProjectID)
		if err == nil {
			err = knownID("project", id)
		}
		if err != nil {
			return nil, err
		}
		who.ProjectID = id
	}
	return body(a.deps.Credentials.Test(ctx, who, in.Kind, in.Body.Number))
}

func (a *API) rotateCredentials(ctx context.Context, _ *struct{}) (*bodyOut[credential.Rotation], error) {
	return body(a.deps.Credentials.Rotate(ctx))
}
