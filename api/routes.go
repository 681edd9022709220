package api

import (
	"net/http"

	"github.com/omoi-dev/omoi/internal/client"
)

// Tags of the document.
const (
	tagTasks     = "tasks"
	tagProjects  = "projects"
	tagSandboxes = "sandboxes"
	tagServer    = "server"
)

// register is the index of the API.
func (a *API) register() {
	a.registerServer()
	a.registerMetrics()
	a.registerProjects()
	a.registerDispatch()
	a.registerOrganizations()
	a.registerBudgets()
	a.registerBranches()
	a.registerTasks()
	a.registerDependencies()
	a.registerSandboxes()
	a.registerIntake()
	a.registerWire()
	a.registerMessages()
	a.registerReaders()
	a.registerTranscripts()
	a.registerStreams()
	a.registerOperator()
	a.registerWork()
	a.registerCredentials()
	a.registerWebhooks()
	a.registerGuardian()
	a.registerWhy()
	a.registerSocket()
}

func (a *API) registerServer() {
	const get, keys = http.MethodGet, "/api/v1/auth/api-keys"
	add(a, route{
		method: get, path: "/health", id: "health", tag: tagServer, summary: "Liveness check", access: accessNone,
	}, a.health)
	add(a, route{
		method: get, path: "/healthz", id: "liveness", tag: tagServer, summary: "Liveness check", access: accessNone,
	}, a.health)
	add(a, route{
		method: get, path: "/readyz", id: "readiness", tag: tagServer, access: accessNone,
		summary: "Readiness check", more: "The state of everything that the server needs.",
		also: map[int]any{http.StatusServiceUnavailable: client.Readiness{}},
	}, a.ready)
	add(a, route{
		method: get, path: "/api/v1/info", id: "info", tag: tagServer, summary: "Get server information", access: accessNone,
	}, a.info)
	add(a, route{
		method: get, path: keys, id: "list-keys", tag: tagServer, summary: "List API keys", access: accessAdmin,
	}, a.listKeys)
	add(a, route{
		method: http.MethodPost, path: keys, id: "create-key", tag: tagServer, summary: "Create an API key",
		access: accessAdmin, status: http.StatusCreated,
	}, a.createKey)
	add(a, route{
		method: http.MethodDelete, path: keys + "/{id}", id: "revoke-key", tag: tagServer, summary: "Revoke an API key",
		access: accessAdmin, status: http.StatusNoContent,
	}, remove(a.deps.Keys.RevokeKey))
}

func (a *API) registerProjects() {
	const projects, tickets = "/api/v1/projects", "/api/v1/tickets"
	add(a, route{
		method: http.MethodPost, path: projects, id: "create-project", tag: tagProjects, summary: "Create a project",
		access: accessWrite, status: http.StatusCreated,
	}, a.createProject)
	add(a, route{
		method: http.MethodGet, path: projects, id: "list-projects", tag: tagProjects, summary: "List projects",
		access: accessRead,
	}, listed(a.deps.Projects.Projects))
	add(a, route{
		method: http.MethodGet, path: projects + "/{id}", id: "get-project", tag: tagProjects, summary: "Get a project",
		access: accessRead,
	}, read(a.deps.Projects.Project))
	add(a, route{
		method: http.MethodPatch, path: projects + "/{id}", id: "update-project", tag: tagProjects,
		summary: "Update a project", access: accessWrite,
	}, a.patchProject)
	add(a, route{
		method: http.MethodDelete, path: projects + "/{id}", id: "delete-project", tag: tagProjects,
		summary: "Delete a project", more: "Deletes its credentials too; 409 names its open tasks.", access: accessAdmin,
		status: http.StatusNoContent,
	}, remove(a.deps.Projects.DeleteProject))
	add(a, route{
		method: http.MethodGet, path: projects + "/{id}/deletion", id: "preview-project-deletion", tag: tagProjects,
		summary: "Preview the deletion of a project", access: accessRead,
	}, read(a.deps.Projects.ProjectDeletion))
	add(a, route{
		method: http.MethodPost, path: tickets, id: "create-ticket", tag: tagProjects, summary: "Create a ticket",
		more: "With its first task.", access: accessWrite, status: http.StatusCreated,
	}, a.createTicket)
	add(a, route{
		method: http.MethodGet, path: tickets, id: "list-tickets", tag: tagProjects, summary: "List tickets",
		access: accessRead,
	}, listed(a.deps.Tickets.Tickets))
	add(a, route{
		method: http.MethodGet, path: tickets + "/{id}", id: "get-ticket", tag: tagProjects, summary: "Get a ticket",
		access: accessRead,
	}, read(a.deps.Tickets.Ticket))
}

func (a *API) registerTasks() {
	const tasks = "/api/v1/tasks"
	accepted := map[int]any{http.StatusAccepted: client.CommandResult{}}
	add(a, route{
		method: http.MethodPost, path: tasks, id: "create-task", tag: tagTasks, summary: "Create a task", access: accessWrite,
		status: http.StatusCreated, also: map[int]any{http.StatusOK: client.Task{}},
	}, a.createTask)
	add(a, route{
		method: http.MethodGet, path: tasks, id: "list-tasks", tag: tagTasks, summary: "List tasks",
		more: "A result of more than 2 KiB is cut, and marked as truncated.", access: accessRead,
	}, a.listTasks)
	add(a, route{
		method: http.MethodGet, path: tasks + "/{id}", id: "get-task", tag: tagTasks, summary: "Get a task",
		access: accessRead,
	}, a.getTask)
	add(a, route{
		method: http.MethodPatch, path: tasks + "/{id}", id: "update-task", tag: tagTasks, summary: "Update a task",
		access: accessWrite,
	}, a.patchTask)
	for kind, summary := range map[string]string{"cancel": "Cancel a task", "fail": "Mark a task as failed", "retry": "Retry a task"} {
		add(a, route{
			method: http.MethodPost, path: tasks + "/{id}/" + kind, id: kind + "-task", tag: tagTasks,
			summary: summary, access: accessWrite, also: accepted,
		}, a.ask(kind))
	}
	add(a, route{
		method: http.MethodPost, path: tasks + "/{id}/verdict", id: "review-task", tag: tagTasks,
		summary: "Submit a review", access: accessWrite, also: accepted,
	}, a.judgeTask)
	add(a, route{
		method: http.MethodGet, path: tasks + "/{id}/events", id: "list-task-events", tag: tagTasks,
		summary: "List a task's events", more: "Of all attempts, oldest first.", access: accessRead,
		fails: []int{http.StatusGone},
	}, a.taskEvents)
	add(a, route{
		method: http.MethodGet, path: tasks + "/{id}/diff", id: "get-task-diff", tag: tagTasks, summary: "Get a task's diff",
		access: accessRead, text: "text/plain", fails: []int{http.StatusGone, http.StatusTooManyRequests},
	}, a.diffTask)
	add(a, route{
		method: http.MethodGet, path: "/api/v1/commands/{id}", id: "get-command", tag: tagTasks, summary: "Get a command",
		access: accessRead,
	}, read(a.deps.Commands.Command))
}

func (a *API) registerDependencies() {
	const deps = "/api/v1/tasks/{id}/dependencies"
	add(a, route{
		method: http.MethodGet, path: deps, id: "list-dependencies", tag: tagTasks, summary: "List dependencies",
		access: accessRead,
	}, a.getDependencies)
	add(a, route{
		method: http.MethodPost, path: deps, id: "add-dependencies", tag: tagTasks, summary: "Add dependencies",
		access: accessWrite,
	}, editDependencies(a.deps.Dependencies.AddDependencies))
	add(a, route{
		method: http.MethodPut, path: deps, id: "replace-dependencies", tag: tagTasks, summary: "Replace dependencies",
		access: accessWrite,
	}, editDependencies(a.deps.Dependencies.SetDependencies))
	add(a, route{
		method: http.MethodDelete, path: deps, id: "remove-dependency", tag: tagTasks, summary: "Remove a dependency",
		access: accessWrite,
	}, a.removeDependency)
	add(a, route{
		method: http.MethodPost, path: deps + "/check-circular", id: "check-circular", tag: tagTasks,
		summary: "Check for circular dependencies", access: accessRead,
	}, a.checkCircular)
}

func (a *API) registerSandboxes() {
	const sandboxes, hosts = "/api/v1/sandboxes", "/api/v1/hosts"
	add(a, route{
		method: http.MethodGet, path: sandboxes, id: "list-sandboxes", tag: tagSandboxes, summary: "List sandboxes",
		access: accessRead,
	}, a.listSandboxes)
	add(a, route{
		method: http.MethodGet, path: "/api/v1/storage", id: "get-storage", tag: tagSandboxes,
		summary: "Get stored data by kind", more: "With what expires next.", access: accessAdmin,
	}, a.storage)
	add(a, route{
		method: http.MethodGet, path: hosts, id: "list-hosts", tag: tagSandboxes, summary: "List hosts", access: accessAdmin,
	}, a.listHosts)
	add(a, route{
		method: http.MethodPost, path: hosts + "/{id}/lost", id: "mark-host-lost", tag: tagSandboxes,
		summary: "Mark a host as lost", more: "All its sandboxes are marked as lost with it.", access: accessAdmin,
	}, a.loseHost)
	add(a, route{
		method: http.MethodGet, path: sandboxes + "/{sandbox_id}", id: "get-sandbox", tag: tagSandboxes,
		summary: "Get a sandbox", access: accessInspect,
	}, a.getSandbox)
}

// registerWire registers the routes that keep their old form.
func (a *API) registerWire() {
	const sandbox = "/api/v1/sandboxes/{sandbox_id}"
	add(a, route{
		method: http.MethodGet, path: "/api/v1/sandboxes/health", id: "sandbox-health", tag: tagSandboxes,
		summary: "Legacy health check", access: accessNone,
	}, a.sandboxHealth)
	add(a, route{
		method: http.MethodGet, path: sandbox + "/events", id: "list-events", tag: tagSandboxes, summary: "List events",
		more: "Newest first.", access: accessInspect,
	}, a.listEvents)
	add(a, route{
		method: http.MethodGet, path: sandbox + "/task", id: "sandbox-task", tag: tagSandboxes,
		summary: "Get a sandbox's task", access: accessInspect,
	}, a.sandboxTask)
	add(a, route{
		method: http.MethodPost, path: sandbox + "/task-complete", id: "task-complete", tag: tagSandboxes,
		summary: "Complete a task from its sandbox", access: accessSandbox, says: client.TaskComplete{},
	}, a.taskComplete)
	add(a, route{
		method: http.MethodPost, path: sandbox + "/validation-result", id: "validation-result", tag: tagSandboxes,
		summary: "Submit a validation result", access: accessSandbox, says: client.Verdict{},
	}, a.validationResult)
}
