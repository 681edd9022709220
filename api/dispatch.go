package api

import (
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/api/client"
)

// Dispatch pauses and resumes projects. Both methods return the tasks that were told to stop or to continue.
type Dispatch interface {
	PauseProject(ctx context.Context, p client.ProjectPause) (client.Project, []string, error)
	ResumeProject(ctx context.Context, p client.ProjectPause) (client.Project, []string, error)
}

func (a *API) registerDispatch() {
	projects := a.group(tagProjects, "/api/v1/projects/{id}")
	add(projects.on(accessWrite, "POST /pause", "pause-project", "Pause a project"),
		a.halt(a.deps.Dispatch.PauseProject), details{
			more: "The project admits no more tasks, and running ones continue. With now, running tasks are suspended too.",
		})
	add(projects.on(accessWrite, "POST /resume", "resume-project", "Resume a project"),
		a.halt(a.deps.Dispatch.ResumeProject),
		details{more: "The project admits tasks again, and tasks that pause suspended continue."})
}

// halt returns the handler of pause and resume.
func (a *API) halt(
	do func(context.Context, client.ProjectPause) (client.Project, []string, error),
) func(context.Context, *changeIn[*client.PauseRequest]) (*bodyOut[client.PauseResult], error) {
	return func(ctx context.Context, in *changeIn[*client.PauseRequest]) (*bodyOut[client.PauseResult], error) {
		said := cmp.Or(in.Body, &client.PauseRequest{})
		if err := checkText("reason", said.Reason, maxReason); err != nil {
			return nil, err
		}
		who := callerOf(ctx)
		p, tasks, err := do(ctx, client.ProjectPause{
			OrganizationID: who.organization, ProjectID: in.ID, Now: said.Now, Sender: who.name,
			Reason: cmp.Or(said.Reason, "the project was paused or resumed"),
		})
		if err != nil {
			return nil, err
		}
		paused, err := a.allPaused(ctx, who.organization)
		return body(client.PauseResult{Project: p, TaskIDs: tasks, InstallationPaused: paused}, err)
	}
}

// allPaused reports whether the setting orchestrator.enabled pauses all tasks.
func (a *API) allPaused(ctx context.Context, organization string) (bool, error) {
	found, err := a.deps.Organizations.Organizations(ctx, organization)
	return len(found) > 0 && found[0].Paused, err
}
