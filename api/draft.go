package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// draft converts a request to a task that can be accepted; [task.CodeInvalid] names the first invalid field.
func (a *API) draft(ctx context.Context, in client.CreateTaskRequest) (task.NewTask, error) {
	var d task.NewTask
	for _, step := range a.draftSteps(ctx, &d, &in) {
		if err := step(); err != nil {
			return d, err
		}
	}
	if err := a.refuseUnable(ctx, &d, in); err != nil {
		return d, err
	}
	var err error
	d.Repo, err = a.checkRepo(ctx, in.Repo)
	d.Ticket = task.NewTicket{
		Title: d.Title, Description: d.Description, TicketType: "feature", PhaseID: d.PhaseID, Priority: d.Priority,
	}
	return d, err
}

// draftSteps returns what draft does before it accesses the repository.
func (a *API) draftSteps(ctx context.Context, d *task.NewTask, in *client.CreateTaskRequest) []func() error {
	d.TaskType, d.MaxRetries, d.ProjectSlots = cmp.Or(in.TaskType, modeImplementation), defaultRetries, a.cfg.ProjectSlots
	return []func() error{
		func() error { return draftText(d, *in) },
		func() error { return draftWords(d, *in) },
		func() error { return a.draftReferences(ctx, d, in) },
		func() error { return a.draftRunner(ctx, d, *in) },
		func() error { return a.draftExecution(d, *in) },
		func() error { return draftContract(d, in.Contract) },
		func() error { return draftLimits(d, *in) },
		func() error { return draftPlace(d, *in) },
	}
}

// draftReferences replaces the keys in a request by IDs.
func (a *API) draftReferences(ctx context.Context, d *task.NewTask, in *client.CreateTaskRequest) error {
	err := cmp.Or(a.idIn(ctx, "project_id", task.KeyedProject, &in.ProjectID), a.idIn(ctx, "ticket_id", task.KeyedTicket, &in.TicketID))
	if err == nil && in.DependsOn != nil {
		d.DependsOn, err = a.taskIDs(ctx, "dependencies.depends_on", in.DependsOn.TaskIDs)
	}
	return err
}

func draftText(d *task.NewTask, in client.CreateTaskRequest) error {
	d.Title, d.Description = in.Title, in.Description
	if strings.TrimSpace(d.Title) == "" && strings.TrimSpace(d.Description) == "" {
		return task.Invalid("title", "Missing title and description: a task needs one of them.")
	}
	if in.Title != "" {
		if err := checkTitle("title", in.Title); err != nil {
			return err
		}
	}
	if strings.TrimSpace(d.Description) == "" {
		d.Description = d.Title
	}
	if err := checkText("description", d.Description, maxDescription); err != nil {
		return err
	}
	if in.Title == "" {
		d.Title = titleFrom(d.Description)
	}
	return nil
}

// titleFrom returns the beginning of the first line with text, as one line.
func titleFrom(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	title := []rune(strings.Join(strings.Fields(line), " "))
	if len(title) <= madeTitle {
		return string(title)
	}
	cut := string(title[:madeTitle])
	if at := strings.LastIndex(cut, " "); at > madeTitle/2 {
		cut = cut[:at]
	}
	return cut + "..."
}

func draftWords(d *task.NewTask, in client.CreateTaskRequest) error {
	if err := checkTaskType(d.TaskType); err != nil {
		return err
	}
	var errs [3]error
	d.PhaseID, errs[0] = oneOf("phase_id", in.PhaseID, "PHASE_IMPLEMENTATION", task.Phases())
	d.Priority, errs[1] = oneOf("priority", in.Priority, "MEDIUM", task.Priorities())
	d.Mode, errs[2] = oneOf("mode", in.Mode, task.ModeOf(d.TaskType), modes())
	return cmp.Or(errs[:]...)
}

func checkTaskType(text string) error {
	if !wordForm.MatchString(text) {
		return task.Invalid("task_type", "Invalid task_type %q: expected letters, digits, _ . and - only.", clip(text))
	}
	return nil
}

// draftRunner chooses agent and provider. The agent external and the provider external imply each other unless the
// caller says otherwise.
func (a *API) draftRunner(ctx context.Context, d *task.NewTask, in client.CreateTaskRequest) error {
	var errs [3]error
	field, provider := "provider", in.Provider
	if in.Sandbox != "" {
		if provider != "" && provider != in.Sandbox {
			errs[2] = task.Invalid("sandbox", "Conflicting fields provider and sandbox: sandbox is an alias. Next: send provider alone")
		}
		field, provider = "sandbox", in.Sandbox
	}
	d.Agent, errs[0] = oneOf("agent", in.Agent, "", task.RuntimeNames())
	d.Provider, errs[1] = oneOf(field, provider, "", task.ProviderNames())
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	if d.Provider == "" && task.RuntimeOf(d.Agent).SelfConnecting {
		d.Provider = task.ProviderExternal
	}
	d.Provider = cmp.Or(d.Provider, a.cfg.Provider)
	if d.Agent == "" {
		if err := a.draftAgent(ctx, d, in); err != nil {
			return err
		}
	}
	if !task.ProviderOf(d.Provider).Machine && !task.RuntimeOf(d.Agent).SelfConnecting {
		return task.Invalid(field,
			"Cannot start a %s agent in an external sandbox: omoi has no machine there. Next: use the agent external, or "+
				"another provider",
			d.Agent)
	}
	return nil
}

func (a *API) draftExecution(d *task.NewTask, in client.CreateTaskRequest) error {
	raw, execution, err := executionOf(in)
	if err != nil {
		return err
	}
	if err := checkNames(execution.Credentials); err != nil {
		return err
	}
	d.Execution, d.Continuous = candidate.Unmark(raw), continuousOf(d.Agent, d.Mode, execution.Continuous)
	if err := a.draftValidation(d, in, execution); err != nil {
		return err
	}
	return a.checkInput(d.Agent, "execution_config.", execution.Script, execution.Command)
}

// checkInput checks the script or command of an agent; prefix is the path of the field that holds it.
func (a *API) checkInput(agent, prefix string, script json.RawMessage, command []string) error {
	field := prefix + task.RuntimeOf(agent).Input
	switch task.RuntimeOf(agent).Input {
	case task.InputScript:
		return a.checkScript(field, script)
	case task.InputCommand:
		if len(command) == 0 || command[0] == "" {
			return task.Invalid(field, "Missing %s: the agent %s needs a list with the program and its arguments.", field, agent)
		}
	}
	return nil
}

func executionOf(in client.CreateTaskRequest) (raw json.RawMessage, execution task.Execution, err error) {
	raw, err = checkObject("execution_config", in.Execution)
	if err != nil || len(raw) == 0 {
		return raw, execution, err
	}
	if err := json.Unmarshal(raw, &execution); err != nil {
		return raw, execution, badExecution(err)
	}
	if string(execution.Script) == "null" {
		execution.Script = nil
	}
	return raw, execution, nil
}

func badExecution(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		field := "execution_config." + wrong.Field
		return task.Invalid(field, "The field %s must be %s, not %s.", field, kindOf(wrong), valueOf(wrong))
	}
	return task.Invalid("execution_config", "Cannot read execution_config: %s.", err)
}

func continuousOf(agent, mode string, given *bool) bool {
	if given != nil {
		return *given
	}
	return task.RuntimeOf(agent).Input != task.InputScript && mode != modeExploration
}

func (a *API) checkScript(field string, script json.RawMessage) error {
	if len(script) == 0 {
		return task.Invalid(field,
			"Missing %s: the agent scripted needs a script. Next: send a script (docs/TASKS.md has its steps), or "+
				"omoi run --script example:hello",
			field)
	}
	var parsed struct {
		Steps []map[string]any `json:"steps"`
	}
	if json.Unmarshal(script, &parsed) != nil || len(parsed.Steps) == 0 {
		return task.Invalid(field, `Invalid script: expected an object {"steps": [{...}, ...]} with at least one step.`)
	}
	if a.deps.Script == nil {
		return nil
	}
	if err := a.deps.Script(script); err != nil {
		return task.Invalid(field, "%s", sentenceCase(task.MessageOf(err))).WithCause(err)
	}
	return nil
}

// sentenceCase returns the text of an error as a sentence.
func sentenceCase(text string) string {
	return strings.ToUpper(text[:min(1, len(text))]) + strings.TrimSuffix(text[min(1, len(text)):], ".") + "."
}

func draftLimits(d *task.NewTask, in client.CreateTaskRequest) error {
	if in.MaxRetries != nil {
		d.MaxRetries = *in.MaxRetries
	}
	if in.Budget != nil {
		d.Budget = *in.Budget
	}
	if in.DeadlineAt == "" {
		return nil
	}
	var err error
	d.DeadlineAt, err = checkDeadline(in.DeadlineAt)
	return err
}

// checkDeadline parses a deadline. The store checks that it is not in the past, since a duplicate request returns the
// task of the first one.
func checkDeadline(text string) (*time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, task.Invalid("deadline_at",
			"Invalid deadline %q: expected a time in RFC 3339 with its zone, for example 2030-01-31T18:00:00+01:00 or "+
				"2030-01-31T17:00:00Z.",
			clip(text))
	}
	return checkTime("deadline_at", at)
}

// checkTime returns a time in UTC. It rejects a year that JSON cannot express: a row with such a year would make every
// list fail that includes it.
func checkTime(field string, at time.Time) (*time.Time, error) {
	const last = 9999
	if at = at.UTC(); at.Year() > last {
		return nil, task.Invalid(field, "Invalid %s: the moment is after the year %d in UTC.", field, last)
	}
	return &at, nil
}

// draftPlace chooses the project of the task.
func draftPlace(d *task.NewTask, in client.CreateTaskRequest) error {
	given := 0
	for _, place := range []string{in.TicketID, in.ProjectID, in.Repo} {
		if place != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return task.Invalid("repo", "Missing repo, project_id or ticket_id: a task needs one of them.")
	case given > 1:
		return task.Invalid("repo", "Conflicting fields repo, project_id and ticket_id: send only one of them.")
	case in.TicketID != "" && !isID(in.TicketID):
		return task.Invalid("ticket_id", "Invalid ticket_id %q: expected a UUID.", clip(in.TicketID))
	case in.ProjectID != "" && !isID(in.ProjectID):
		return task.Invalid("project_id", "Invalid project_id %q: expected a UUID.", clip(in.ProjectID))
	}
	d.TicketID, d.ProjectID = in.TicketID, in.ProjectID
	return nil
}

// checkRepo returns the repository in its canonical form.
func (a *API) checkRepo(ctx context.Context, repo string) (string, error) {
	if repo == "" {
		return "", nil
	}
	repo, err := cleanRepo(repo)
	if err != nil {
		return "", err
	}
	who := callerOf(ctx)
	project, err := a.deps.Projects.ProjectOf(ctx, who.organization, a.deps.Repos.Name(repo))
	if err != nil {
		return "", err
	}
	name, err := a.checks.ask(ctx, owned{scm.Owner{UserID: who.user, ProjectID: project}, repo}, a.checkOwned)
	if e, ok := errors.AsType[*task.Error](err); ok && e.Code == task.CodeInvalid && e.Field == "" {
		return "", task.Invalid("repo", "%s", e.Message).WithCause(err)
	}
	return name, err
}

// cleanRepo returns a repository as one line of text, an absolute path in its shortest form.
func cleanRepo(repo string) (string, error) {
	if err := checkTitle("repo", repo); err != nil {
		return "", err
	}
	if filepath.IsAbs(repo) {
		repo = filepath.Clean(repo)
	}
	return repo, nil
}

// owned is a repository with the owner on whose behalf it is used.
type owned struct {
	scm.Owner

	repo string
}

// mostChecks is the maximum number of concurrent repository checks. A check runs several git commands. Tasks for the
// same repository share one check, so that many submitted at once are checked in time.
const mostChecks = 32

func (a *API) checkOwned(ctx context.Context, of owned) (string, error) {
	return a.deps.Repos.Check(ctx, of.Owner, of.repo)
}
