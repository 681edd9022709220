package api

import (
	"net/http"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// Tags of the document.
const (
	tagTasks       = "tasks"
	tagProjects    = "projects"
	tagSandboxes   = "sandboxes"
	tagGuardian    = "guardian"
	tagCredentials = "credentials"
	tagWebhooks    = "webhooks"
	tagNotices     = "notices"
	tagServer      = "server"
	tagLegacy      = "legacy" // in addition to the tag of the resource
)

// register registers all routes.
func (a *API) register() {
	a.registerServer()
	a.registerSession()
	a.registerMetrics()
	a.registerProjects()
	a.registerDispatch()
	a.registerOrganizations()
	a.registerBudgets()
	a.registerContracts()
	a.registerQuestions()
	a.registerFigures()
	a.registerBranches()
	a.registerTasks()
	a.registerComparisons()
	a.registerFiles()
	a.registerComments()
	a.registerDependencies()
	a.registerSandboxes()
	a.registerIntake()
	a.registerWire()
	a.registerMessages()
	a.registerReaders()
	a.registerRanges()
	uploads := newBodyLimit(uploadRoom, max(transcript.MaxPiece, checkpoint.MaxChunk))
	a.registerTranscripts(uploads)
	a.registerCheckpoints(uploads)
	a.registerStreams()
	a.registerOperator()
	a.registerVisits()
	a.registerWork()
	a.registerCredentials()
	a.registerWebhooks()
	a.registerNotices()
	a.registerGuardian()
	a.registerWhy()
	a.registerSocket()
	a.registerMCP()
	a.registerLegacy()
	a.registerPage()
}

func (a *API) registerServer() {
	keys := a.group(tagServer, "/api/v1/auth/api-keys")
	server := a.group(tagServer, "")
	add(server.on(accessNone, "GET /health", "health", "Liveness check"), a.health,
		details{more: "Reports that the process answers requests; checks no dependency."})
	add(server.on(accessNone, "GET /healthz", "liveness", "Liveness check"), a.health,
		details{more: "Same as GET /health."})
	add(server.on(accessNone, "GET /readyz", "readiness", "Readiness check"), a.ready, details{
		more: "Checks database, Temporal, workers and other dependencies, in 2 seconds at most. 503 if a required one fails.",
		also: map[int]any{http.StatusServiceUnavailable: client.Readiness{}},
	})
	add(server.on(accessNone, "GET /api/v1/info", "info", "Get server information"), a.info,
		details{more: "Version, and the agents and sandbox providers that a task submitted now can use."})
	add(keys.on(accessAdmin, "GET", "list-keys", "List API keys"), a.listKeys,
		details{
			more:  "API keys of the organization without secrets, newest first, including revoked and expired keys.",
			fails: []int{http.StatusGone},
		})
	add(keys.on(accessAdmin, "POST", "create-key", "Create an API key"), a.createKey, details{
		more: "The answer contains the secret, which cannot be read again.", status: http.StatusCreated,
	})
	add(keys.on(accessAdmin, "DELETE /{id}", "revoke-key", "Revoke an API key"), remove(a.deps.Keys.RevokeKey), details{
		more:   "The server rejects the key from now on, with 401. Repeating the request changes nothing.",
		status: http.StatusNoContent,
	})
}

func (a *API) registerProjects() {
	projects := a.group(tagProjects, "/api/v1/projects")
	tickets := a.group(tagProjects, "/api/v1/tickets")
	add(projects.on(accessWrite, "POST", "create-project", "Create a project"), a.createProject, details{
		more: "Checks that the repository can be reached, unless the project needs a credential of its own for that. " +
			"409 if another project of the organization has the repository or the name.",
		status: http.StatusCreated,
	})
	add(projects.on(accessRead, "GET", "list-projects", "List projects"), listed(a.deps.Projects.Projects),
		details{more: "Projects of the organization, newest first. Deleted projects are not listed."})
	add(projects.on(accessRead, "GET /{id}", "get-project", "Get a project"), read(a.deps.Projects.Project),
		details{more: "The project with its settings. A deleted project answers 404."})
	add(projects.on(accessWrite, "PATCH /{id}", "update-project", "Update a project"), a.patchProject, details{
		more: "Absent fields stay unchanged. Queued tasks start at once if a higher limit or the end of a pause permits.",
	})
	add(projects.on(accessAdmin, "DELETE /{id}", "delete-project", "Delete a project"),
		remove(a.deps.Projects.DeleteProject), details{
			more:   "Deletes the credentials of the project too; tasks, events, receipts and costs stay. 409 names open tasks.",
			status: http.StatusNoContent,
		})
	add(projects.on(accessRead, "GET /{id}/deletion", "preview-project-deletion", "Preview the deletion of a project"),
		read(a.deps.Projects.ProjectDeletion),
		details{more: "What a deletion removes and keeps, and which open tasks prevent it. Changes nothing."})
	add(tickets.on(accessWrite, "POST", "create-ticket", "Create a ticket"), a.createTicket, details{
		more:   "Creates the ticket and its first task, which is queued at once. 409 names open tasks about the same work.",
		status: http.StatusCreated,
	})
	add(tickets.on(accessRead, "GET", "list-tickets", "List tickets"), listed(a.deps.Tickets.Tickets),
		details{more: "Tickets of the organization, newest first."})
	add(tickets.on(accessRead, "GET /{id}", "get-ticket", "Get a ticket"), read(a.deps.Tickets.Ticket),
		details{more: "The ticket with the IDs of its tasks, its status and its newest diagnosis."})
	add(tickets.on(accessWrite, "PATCH /{id}", "update-ticket", "Update a ticket"), a.patchTicket,
		details{more: "Changes the fields of the body and leaves all others, and the tasks of the ticket, as they are."})
}

func (a *API) registerTasks() {
	tasks := a.group(tagTasks, "/api/v1/tasks")
	commands := a.group(tagTasks, "/api/v1/commands")
	accepted := map[int]any{http.StatusAccepted: client.CommandResult{}}
	add(tasks.on(accessWrite, "POST", "create-task", "Create a task"), a.createTask,
		details{more: "Returns 201 with the new task, which starts when admission gives it a slot, and 200 if the Idempotency-Key " +
			"names an existing task.", status: http.StatusCreated, also: map[int]any{http.StatusOK: client.Task{}}})
	add(tasks.on(accessWrite, "POST /preview", "preview-task", "Preview a task"), a.previewTask, details{
		more: "What a request to create a task would give: the values that it leaves to the server, what would refuse it, and similar " +
			"open tasks. Creates nothing, and does not access the repository.",
	})
	add(tasks.on(accessRead, "GET", "list-tasks", "List tasks"), a.listTasks,
		details{more: "Without attempts and reviews; a result above 2 KiB is shortened and marked with truncated. In the order of groups a " +
			"task that changes between two pages may be missing or on both."})
	add(tasks.on(accessRead, "GET /counts", "count-tasks", "Count tasks by group"), a.countTasks,
		details{more: "Counts all tasks of the organization that the filters select."})
	add(tasks.on(accessRead, "GET /{id}", "get-task", "Get a task"), a.getTask,
		details{more: "With its attempts and reviews."})
	add(tasks.on(accessWrite, "PATCH /{id}", "update-task", "Update a task"), a.patchTask,
		details{more: "Changes the fields of the body and leaves all others; a field that may not change any more is refused with 409."})
	for _, c := range taskCommands() {
		add(tasks.on(accessWrite, "POST /{id}/"+c.kind, c.kind+"-task", c.summary), a.ask(c.kind), details{more: c.more, also: accepted})
	}
	add(tasks.on(accessWrite, "POST /{id}/rewind", "rewind-task", "Rewind a task"), a.rewindTask, details{
		more: "Starts the next attempt with the files and the session of an earlier checkpoint. A running attempt ends for it, and its " +
			"work is saved. The command is a retry with a checkpoint. If the branch has commits that the checkpoint lacks, the task " +
			"continues on a new branch, and earlier_branches names the old one. " + settledOrNot, also: accepted, fails: []int{http.StatusGone},
	})
	add(tasks.on(accessWrite, "POST /{id}/fork", "fork-task", "Fork a task"), a.forkTask, details{
		more: "Creates a task that begins with the files and the session of a checkpoint, on a branch of its own, and with the settings " +
			"of the other task. That task continues, and may be deleted. Returns 201, and 200 if the Idempotency-Key names an existing task.",
		status: http.StatusCreated, also: map[int]any{http.StatusOK: client.Task{}}, fails: []int{http.StatusGone},
	})
	add(tasks.on(accessWrite, "POST /{id}/verdict", "review-task", "Submit a review"), a.judgeTask,
		details{more: "Replaces the verdict of a validator. " + settledOrNot, also: accepted})
	add(tasks.on(accessRead, "GET /{id}/events", "list-task-events", "List a task's events"), a.taskEvents,
		details{more: "Events of all attempts, oldest first. next_cursor is null once the task has ended and all events were read.", fails: []int{http.StatusGone}})
	add(tasks.on(accessRead, "GET /{id}/diff", "get-task-diff", "Get a task's diff"), a.diffTask,
		details{more: "Changes on the branch since base_commit as a unified diff; 404 without a branch, 429 if the diff is too long.", text: "text/plain", fails: []int{http.StatusGone, http.StatusTooManyRequests}})
	add(commands.on(accessRead, "GET /{id}", "get-command", "Get a command"), read(a.deps.Commands.Command),
		details{more: "The receipt of a cancel, fail, retry, suspension, completion or verdict."})
}

// settledOrNot describes the statuses of the response to a command.
const settledOrNot = "Returns 200 when the command is applied, 202 while it is under way, and 409 if it is rejected or too late."

// taskCommands returns the commands whose only argument is a reason.
func taskCommands() []struct{ kind, summary, more string } {
	return []struct{ kind, summary, more string }{
		{"cancel", "Cancel a task", "Saves the work, deletes the sandbox and ends the task as cancelled. " + settledOrNot},
		{"fail", "Mark a task as failed", "Saves the work, deletes the sandbox and ends the task as failed. " + settledOrNot},
		{"retry", "Retry a task", "Starts the next attempt of a failed or cancelled task, or resumes a suspended one. " + settledOrNot},
		{"suspend", "Suspend a task", "Ends a running attempt, after a tool call that ends soon, saves its work, and waits for a retry. " + settledOrNot},
	}
}

func (a *API) registerDependencies() {
	dependencies := a.group(tagTasks, "/api/v1/tasks/{id}/dependencies")
	add(dependencies.on(accessRead, "GET", "list-dependencies", "List dependencies"), a.getDependencies,
		details{more: "The tasks that must be completed before this one starts."})
	add(dependencies.on(accessWrite, "POST", "add-dependencies", "Add dependencies"),
		a.editDependencies(a.deps.Dependencies.AddDependencies),
		details{more: "Keeps the existing ones; only while the task is pending. A cycle is refused."})
	add(dependencies.on(accessWrite, "PUT", "replace-dependencies", "Replace dependencies"),
		a.editDependencies(a.deps.Dependencies.SetDependencies),
		details{more: "Removes those that the body does not list; only while the task is pending. A cycle is refused."})
	add(dependencies.on(accessWrite, "DELETE", "remove-dependency", "Remove a dependency"), a.removeDependency,
		details{more: "Only while the task is pending; returns the remaining ones."})
	add(dependencies.on(accessRead, "POST /check-circular", "check-circular", "Check for circular dependencies"),
		a.checkCircular, details{more: "Reports whether these dependencies would form a cycle; changes nothing."})
}

func (a *API) registerSandboxes() {
	sandboxes := a.group(tagSandboxes, "/api/v1")
	add(sandboxes.on(accessRead, "GET /sandboxes", "list-sandboxes", "List sandboxes"), a.listSandboxes,
		details{more: "Every sandbox ever requested, newest first, deleted ones included. Filters combine with AND."})
	add(sandboxes.on(accessAdmin, "GET /storage", "get-storage", "Get stored data by kind"), a.storage,
		details{more: "How much omoi stores of each kind of data, and how much the next retention pass removes."})
	add(sandboxes.on(accessAdmin, "GET /hosts", "list-hosts", "List hosts"), a.listHosts,
		details{more: "All hosts, the newest host heartbeat first.", fails: []int{http.StatusGone}})
	add(sandboxes.on(accessAdmin, "POST /hosts/{id}/mark-lost", "mark-host-lost", "Mark a host as lost"), a.loseHost,
		details{more: "Marks all its sandboxes as lost too, and ends their attempts. 409 while the host sends heartbeats."})
	add(sandboxes.on(accessInspect, "GET /sandboxes/{sandbox_id}", "get-sandbox", "Get a sandbox"), a.getSandbox,
		details{more: "One sandbox, whether or not it still exists at its provider."})
}

// registerWire registers the routes in legacy form.
func (a *API) registerWire() {
	sandboxes := a.group(tagSandboxes, "/api/v1/sandboxes")
	sandbox := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}")
	add(sandboxes.on(accessNone, "GET /health", "sandbox-health", "Legacy health check"), a.sandboxHealth,
		details{more: "Legacy. Answers without checking a dependency; use GET /readyz."})
	add(sandbox.on(accessInspect, "GET /events", "list-events", "List events"), a.listEvents,
		details{more: "Legacy. Events of the sandbox, newest first; an unknown sandbox has none."})
	add(sandbox.on(accessInspect, "GET /task", "sandbox-task", "Get a sandbox's task"), a.sandboxTask,
		details{more: "Legacy. The task whose attempt runs or ran in the sandbox; 404 for an unmanaged sandbox."})
	add(sandbox.on(accessSandbox, "POST /task-complete", "task-complete", "Complete a task from its sandbox"),
		a.taskComplete, details{
			more: "Legacy. Completes or fails the task of the sandbox. An ended task keeps its status: receipt too_late.",
			says: client.TaskComplete{},
		})
	add(sandbox.on(accessSandbox, "POST /validation-result", "validation-result", "Submit a validation result"),
		a.validationResult, details{
			more: "Legacy. Submits the verdict of a validator. An ended task keeps its status: receipt too_late.",
			says: client.Verdict{},
		})
}
