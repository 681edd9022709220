package api

import (
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/api/client"
)

// pythonTime is the form of a moment in OmoiOS.
const pythonTime = "2006-01-02T15:04:05.000000-07:00"

func pythonic(at time.Time) string { return at.UTC().Format(pythonTime) }

// registerLegacy registers the routes that differ for clients of OmoiOS. They keep request, response and status.
func (a *API) registerLegacy() {
	tasks := a.group(tagTasks, legacyPrefix+"/api/v1/tasks")
	projects := a.group(tagProjects, legacyPrefix+"/api/v1/projects")
	tickets := a.group(tagProjects, legacyPrefix+"/api/v1/tickets")
	add(tasks.on(accessRead, "GET", "list-legacy-tasks", "List tasks in legacy form"), a.legacyTasks,
		details{
			more: "Legacy. A bare array, newest first, of tasks in all statuses, ended ones included.", also: map[int]any{http.StatusOK: []client.LegacyTask{}},
		})
	add(tasks.on(accessWrite, "PATCH /{id}", "update-legacy-task", "Update a task in legacy form"), a.patchLegacyTask, details{
		more: "Legacy. Changes the fields of the body. The status failed or cancelled is a command; an ended task is refused with 400.",
		says: client.UpdateLegacyTaskRequest{},
	})
	add(tasks.on(accessWrite, "POST /{id}/fail", "fail-legacy-task", "Mark a task as failed in legacy form"), a.failLegacyTask,
		details{more: "Legacy. Saves the work, deletes the sandbox and ends the task; 400 if the task has ended.", says: client.EndLegacyTaskRequest{}})
	add(tasks.on(accessWrite, "POST /{id}/cancel", "cancel-legacy-task", "Cancel a task in legacy form"), a.cancelLegacyTask,
		details{more: "Legacy. Saves the work, deletes the sandbox and ends the task; 404 if the task has ended.", says: client.EndLegacyTaskRequest{}})
	add(projects.on(accessRead, "GET", "list-legacy-projects", "List projects in legacy form"), a.legacyProjects,
		details{
			more: "Legacy. Projects of the organization, newest first, and their number.", also: map[int]any{http.StatusOK: client.LegacyProjects{}},
		})
	add(projects.on(accessWrite, "POST", "create-legacy-project", "Create a project in legacy form"), a.createLegacyProject, details{
		more: "Legacy. Returns 200. Checks that the repository can be reached, unless the project needs a credential of its own for that.",
		says: client.CreateLegacyProjectRequest{},
	})
	add(projects.on(accessRead, "GET /{id}", "get-legacy-project", "Get a project in legacy form"), a.legacyProject,
		details{more: "Legacy. The project with the parts of its repository on GitHub."})
	add(tickets.on(accessRead, "GET", "list-legacy-tickets", "List tickets in legacy form"), a.legacyTickets,
		details{
			more: "Legacy. Tickets of the organization, newest first, and how many the filters select.", also: map[int]any{http.StatusOK: client.LegacyTickets{}},
		})
	add(tickets.on(accessWrite, "POST", "create-legacy-ticket", "Create a ticket in legacy form"), a.createLegacyTicket, details{
		more: "Legacy. Creates the ticket and its first task and returns 200, also with a list of similar tasks instead.",
		says: client.CreateLegacyTicketRequest{},
	})
}
