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
	add(a, route{method: get, path: "/health", id: "health", tag: tagServer, summary: "Whether the process answers", access: accessNone}, a.health)
	add(a, route{method: get, path: "/healthz", id: "liveness", tag: tagServer, summary: "Whether the process answers", access: accessNone}, a.health)
	add(a, route{
		method: get, path: "/readyz", id: "readiness", tag: tagServer, access: accessNone,
		summary: "The state of everything that the server needs", also: map[int]any{http.StatusServiceUnavailable: client.Readiness{}},
	}, a.ready)
	add(a, route{method: get, path: "/api/v1/info", id: "info", tag: tagServer, summary: "What this server is", access: accessNone}, a.info)
	add(a, route{method: get, path: keys, id: "list-keys", tag: tagServer, summary: "List API keys", access: accessAdmin}, a.listKeys)
	add(a, route{method: http.MethodPost, path: keys, id: "create-key", tag: tagServer, summary: "Make an API key", access: accessAdmin, status: http.StatusCreated}, a.createKey)
	add(a, route{method: http.MethodDelete, path: keys + "/{id}", id: "revoke-key", tag: tagServer, summary: "End an API key", access: accessAdmin, status: http.StatusNoContent}, remove(a.deps.Keys.RevokeKey))
}

func (a *API) registerProjects() {
	const projects, tickets = "/api/v1/projects", "/api/v1/tickets"
	add(a, route{method: http.MethodPost, path: projects, id: "create-project", tag: tagProjects, summary: "Make a project", access: accessWrite, status: http.StatusCreated}, a.createProject)
	add(a, route{method: http.MethodGet, path: projects, id: "list-projects", tag: tagProjects, summary: "List projects", access: accessRead}, a.listProjects)
	add(a, route{method: http.MethodGet, path: projects + "/{id}", id: "get-project", tag: tagProjects, summary: "Look at a project", access: accessRead}, read(a.deps.Projects.Project))
	add(a, route{method: http.MethodPatch, path: projects + "/{id}", id: "patch-project", tag: tagProjects, summary: "Change a project", access: accessWrite}, a.patchProject)
	add(a, route{method: http.MethodDelete, path: projects + "/{id}", id: "delete-project", tag: tagProjects, summary: "Delete a project and its credentials; 409 names its open tasks", access: accessAdmin, status: http.StatusNoContent}, remove(a.deps.Projects.DeleteProject))
	add(a, route{method: http.MethodGet, path: projects + "/{id}/deletion", id: "preview-project-deletion", tag: tagProjects, summary: "Preview the deletion of a project", access: accessRead}, read(a.deps.Projects.ProjectDeletion))
	add(a, route{method: http.MethodPost, path: tickets, id: "create-ticket", tag: tagProjects, summary: "Make a ticket and its first task", access: accessWrite, status: http.StatusCreated}, a.createTicket)
	add(a, route{method: http.MethodGet, path: tickets, id: "list-tickets", tag: tagProjects, summary: "List tickets", access: accessRead}, a.listTickets)
	add(a, route{method: http.MethodGet, path: tickets + "/{id}", id: "get-ticket", tag: tagProjects, summary: "Look at a ticket", access: accessRead}, read(a.deps.Tickets.Ticket))
}

func (a *API) registerTasks() {
	const tasks = "/api/v1/tasks"
	accepted := map[int]any{http.StatusAccepted: client.Asked{}}
	add(a, route{
		method: http.MethodPost, path: tasks, id: "create-task", tag: tagTasks, summary: "Ask for a task", access: accessWrite,
		status: http.StatusCreated, also: map[int]any{http.StatusOK: client.Task{}},
	}, a.createTask)
	add(a, route{method: http.MethodGet, path: tasks, id: "list-tasks", tag: tagTasks, summary: "List tasks; a result of more than 2 KiB is cut, and says so as truncated", access: accessRead}, a.listTasks)
	add(a, route{method: http.MethodGet, path: tasks + "/{id}", id: "get-task", tag: tagTasks, summary: "Look at a task", access: accessRead}, a.getTask)
	add(a, route{method: http.MethodPatch, path: tasks + "/{id}", id: "patch-task", tag: tagTasks, summary: "Change a task", access: accessWrite}, a.patchTask)
	for _, kind := range []string{"cancel", "fail", "retry"} {
		add(a, route{
			method: http.MethodPost, path: tasks + "/{id}/" + kind, id: kind + "-task", tag: tagTasks,
			summary: "Ask for a " + kind + " of a task", access: accessWrite, also: accepted,
		}, a.ask(kind))
	}
	add(a, route{
		method: http.MethodPost, path: tasks + "/{id}/verdict", id: "judge-task", tag: tagTasks,
		summary: "Give a person's verdict on the work of a task", access: accessWrite, also: accepted,
	}, a.judgeTask)
	add(a, route{method: http.MethodGet, path: tasks + "/{id}/events", id: "task-events", tag: tagTasks, summary: "Events of all attempts, oldest first", access: accessRead, fails: []int{http.StatusGone}}, a.taskEvents)
	add(a, route{method: http.MethodGet, path: tasks + "/{id}/diff", id: "task-diff", tag: tagTasks, summary: "The unified diff of the task's branch", access: accessRead, text: "text/plain", fails: []int{http.StatusGone, http.StatusTooManyRequests}}, a.diffTask)
	add(a, route{method: http.MethodGet, path: "/api/v1/commands/{id}", id: "get-command", tag: tagTasks, summary: "The receipt of a command", access: accessRead}, read(a.deps.Commands.Command))
}

func (a *API) registerDependencies() {
	const deps = "/api/v1/tasks/{id}/dependencies"
	add(a, route{method: http.MethodGet, path: deps, id: "get-dependencies", tag: tagTasks, summary: "What a task waits for", access: accessRead}, a.getDependencies)
	add(a, route{method: http.MethodPost, path: deps, id: "add-dependencies", tag: tagTasks, summary: "Add dependencies", access: accessWrite}, a.editDependencies(a.deps.Dependencies.AddDependencies))
	add(a, route{method: http.MethodPut, path: deps, id: "set-dependencies", tag: tagTasks, summary: "Replace dependencies", access: accessWrite}, a.editDependencies(a.deps.Dependencies.SetDependencies))
	add(a, route{method: http.MethodDelete, path: deps, id: "remove-dependency", tag: tagTasks, summary: "Remove a dependency", access: accessWrite}, a.removeDependency)
	add(a, route{method: http.MethodPost, path: deps + "/check-circular", id: "check-circular", tag: tagTasks, summary: "Whether dependencies would close a cycle", access: accessRead}, a.checkCircular)
}

func (a *API) registerSandboxes() {
	const sandboxes, hosts = "/api/v1/sandboxes", "/api/v1/hosts"
	add(a, route{method: http.MethodGet, path: sandboxes, id: "list-sandboxes", tag: tagSandboxes, summary: "List the ledger", access: accessRead}, a.listSandboxes)
	add(a, route{method: http.MethodGet, path: "/api/v1/storage", id: "get-storage", tag: tagSandboxes, summary: "Get stored data by kind, and what expires next", access: accessAdmin}, a.storage)
	add(a, route{method: http.MethodGet, path: hosts, id: "list-hosts", tag: tagSandboxes, summary: "List the machines of sandboxes", access: accessAdmin}, a.listHosts)
	add(a, route{method: http.MethodPost, path: hosts + "/{id}/lost", id: "lose-host", tag: tagSandboxes, summary: "Declare a machine lost, with all that is on it", access: accessAdmin}, a.loseHost)
	add(a, route{method: http.MethodGet, path: sandboxes + "/{sandbox_id}", id: "get-sandbox", tag: tagSandboxes, summary: "Look at a sandbox", access: accessInspect}, a.getSandbox)
}

// registerWire registers the routes that keep their old form.
func (a *API) registerWire() {
	const sandbox = "/api/v1/sandboxes/{sandbox_id}"
	add(a, route{method: http.MethodGet, path: "/api/v1/sandboxes/health", id: "sandbox-health", tag: tagSandboxes, summary: "Liveness, in the old form", access: accessNone}, a.sandboxHealth)
	add(a, route{method: http.MethodGet, path: sandbox + "/events", id: "list-events", tag: tagSandboxes, summary: "Stored events, newest first", access: accessInspect}, a.listEvents)
	add(a, route{method: http.MethodGet, path: sandbox + "/task", id: "sandbox-task", tag: tagSandboxes, summary: "The task of a sandbox", access: accessInspect}, a.sandboxTask)
	add(a, route{method: http.MethodPost, path: sandbox + "/task-complete", id: "task-complete", tag: tagSandboxes, summary: "Complete the sandbox's task", access: accessSandbox, says: client.TaskComplete{}}, a.taskComplete)
	add(a, route{method: http.MethodPost, path: sandbox + "/validation-result", id: "validation-result", tag: tagSandboxes, summary: "Give a verdict on a task", access: accessSandbox, says: client.Verdict{}}, a.validationResult)
}
