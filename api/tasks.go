package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Repos accesses repositories.
type Repos interface {
	// Check returns the canonical name of a repository, or [task.CodeInvalid] with the next step if agents cannot use
	// it.
	Check(ctx context.Context, who scm.Owner, repo string) (name string, err error)
	// Name returns the canonical name of a repository without access to it.
	Name(repo string) string
	// Head returns the commit at which new branches start: the head of branch; empty means the default branch.
	Head(ctx context.Context, who scm.Owner, repo, branch string) (commit string, err error)
	// Diff writes a unified diff to w.
	Diff(ctx context.Context, who scm.Owner, of BranchDiff, w io.Writer) error
}

// BranchDiff names a branch and its base.
type BranchDiff struct{ Repo, Base, Branch string }

// Tasks stores tasks. The errors of all ports have domain codes; the ID of an object of another organization is
// [task.CodeNotFound].
type Tasks interface {
	AcceptTask(ctx context.Context, d task.NewTask) (task.Accepted, error)
	// AcceptTasks stores all tasks or none, in one ticket; the first has the idempotency key.
	AcceptTasks(ctx context.Context, all []task.NewTask) (task.Accepted, error)
	Task(ctx context.Context, organizationID, id string) (task.Task, error)
	Tasks(ctx context.Context, organizationID string, q client.TaskQuery) (client.Page[task.Task], error)
	TaskCounts(ctx context.Context, organizationID string, q client.TaskCountQuery) (client.TaskCounts, error)
	ChangeTask(ctx context.Context, organizationID, id string, c client.TaskChange) error
	TaskStatus(ctx context.Context, organizationID, id string) (client.Standing, error)
}

type createTaskIn struct {
	Key  string `header:"Idempotency-Key" doc:"The same key and body return the same task; another body is refused with 409. At most 255 characters; default: no key."`
	Body client.CreateTaskRequest
}

func (a *API) createTask(ctx context.Context, in *createTaskIn) (*madeOut[client.Task], error) {
	d, err := a.draft(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return a.submit(ctx, d, in.Key, in.Body, func(ctx context.Context, d task.NewTask) (task.Accepted, error) {
		return a.accept(ctx, d, in.Body.SimilarityThreshold,
			!in.Body.ForceCreate && in.Body.CheckDuplicates != nil && *in.Body.CheckDuplicates)
	})
}

// submit stores a task in the name of the caller. The same key and body return the same task.
func (a *API) submit(
	ctx context.Context, d task.NewTask, key string, body any, accept func(context.Context, task.NewTask) (task.Accepted, error),
) (*madeOut[client.Task], error) {
	if err := checkIdempotencyKey(key); err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	d.OrganizationID, d.UserID, d.Sender, d.IdempotencyKey, d.Trace = who.organization, who.user, who.name, key, traceparent(ctx)
	var err error
	if d.BodyHash, err = hashOf(body); err != nil {
		return nil, err
	}
	accepted, err := accept(ctx, d)
	if err != nil {
		return nil, err
	}
	a.deps.Bus.Wake(live.Task(accepted.TaskID))
	t, err := a.readTask(ctx, accepted.TaskID)
	if err != nil {
		return nil, err
	}
	out := &madeOut[client.Task]{Status: http.StatusCreated, Location: "/api/v1/tasks/" + t.ID, Body: t}
	if accepted.Repeated {
		out.Status = http.StatusOK
	}
	return out, nil
}

// accept stores a task. If checkDuplicates is set, it rejects a duplicate of an open task of the project, unless the key names
// a task already.
func (a *API) accept(
	ctx context.Context, d task.NewTask, threshold *float64, checkDuplicates bool,
) (task.Accepted, error) {
	if checkDuplicates {
		d.Check = func(ctx context.Context) error { return a.refuseAlike(ctx, d, threshold) }
	}
	return a.deps.Tasks.AcceptTask(ctx, d)
}

// readTask returns a task with the sentence that explains its state.
func (a *API) readTask(ctx context.Context, id string) (client.Task, error) {
	t, err := a.deps.Tasks.Task(ctx, callerOf(ctx).organization, id)
	return explained(t), err
}

// explained adds the sentences of a task.
func explained(t client.Task) client.Task {
	t.QueueReason.Message, t.WaitingFor.Message = explain.Reason(t.QueueReason), explain.Reason(t.WaitingFor)
	t.EndReason.Message = explain.Reason(t.EndReason)
	for n, a := range t.Attempts {
		t.Attempts[n].EndReason.Message = explain.Reason(a.EndReason)
	}
	t.Said = redact.Scrub(t.Said, nil)
	t.Why = explain.Why(t, explain.Outage{})
	return t
}

// hashOf returns a hash of the content of a body, regardless of white space.
func hashOf(body any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("hash the request body: %w", err)
	}
	sum := sha256.Sum256(content)
	return sum[:], nil
}

func checkIdempotencyKey(key string) error {
	if len(key) > maxKeyLength || strings.ContainsFunc(key, unicode.IsControl) {
		return task.Invalid("Idempotency-Key",
			"Invalid Idempotency-Key: expected at most %d characters, without control characters.", maxKeyLength)
	}
	return nil
}

type listTasksIn struct {
	Statuses   []string `query:"status,explode" doc:"Only tasks in one of these statuses; default: all."`
	PhaseIDs   []string `query:"phase_id,explode" doc:"Only tasks of one of these phases; default: all."`
	HasSandbox string   `query:"has_sandbox" enum:"true,false" doc:"true: only tasks with a sandbox_id, running or ended; false: only those without; default: all."`
	TicketIDs  []string `query:"ticket_id,explode" doc:"Only tasks of one of these tickets; default: all."`
	Groups     []string `query:"group,explode" doc:"Only tasks of one of these groups; default: all."`
	Order      string   `query:"order" enum:"newest,group" default:"newest" doc:"newest: newest first. group: needs_you, running, checking, waiting, then ended tasks; running ones by their last change, waiting ones by score and queue position, ended ones by their end."`
	client.TaskCountQuery
	IDs []string `query:"id,explode" doc:"Only tasks with this key, or whose ID begins or ends so, or whose last 8 digits begin so: 4 to 36 hexadecimal digits and hyphens."`
	client.PageRequest
}

// Parts of IDs, which the database compares literally.
var fragmentForm = regexp.MustCompile(`^[0-9a-f-]{4,36}$`)

func (a *API) listTasks(ctx context.Context, in *listTasksIn) (*pageOut[client.Task], error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	page, err := a.deps.Tasks.Tasks(ctx, callerOf(ctx).organization, q)
	for n := range page.Items {
		page.Items[n] = explained(page.Items[n])
	}
	return body(page, err)
}

func (in *listTasksIn) query() (client.TaskQuery, error) {
	q := client.TaskQuery{
		PageRequest: in.PageRequest, Statuses: in.Statuses, PhaseIDs: in.PhaseIDs, TicketIDs: in.TicketIDs,
		ProjectIDs: in.ProjectIDs, Groups: in.Groups, Agents: in.Agents, Text: in.Text, ByGroup: in.Order == "group",
	}
	if in.HasSandbox != "" {
		has := in.HasSandbox == "true"
		q.HasSandbox = &has
	}
	for _, id := range in.IDs {
		q.Fragments = append(q.Fragments, strings.ToLower(id))
		if !fragmentForm.MatchString(strings.ToLower(id)) {
			return q, task.Invalid("id", "Invalid id %q: expected 4 to 36 hexadecimal digits and hyphens of a task ID.", clip(id))
		}
	}
	return q, cmp.Or(checkSearch(in.Text), filterWords("status", in.Statuses, task.Statuses()), filterWords("group", in.Groups, task.Groups()))
}

// maxSearch is the maximum number of bytes of a search: 200 characters.
const maxSearch = 800

func checkSearch(text string) error { return checkText("q", text, maxSearch) }

func (a *API) countTasks(ctx context.Context, in *client.TaskCountQuery) (*bodyOut[client.TaskCounts], error) {
	if err := checkSearch(in.Text); err != nil {
		return nil, err
	}
	return body(a.deps.Tasks.TaskCounts(ctx, callerOf(ctx).organization, *in))
}

// filterWords rejects an unknown value of a filter.
func filterWords[T ~string](field string, values []string, known []T) error {
	for _, value := range values {
		if !slices.Contains(known, T(value)) {
			return task.Invalid(field, "Invalid %s %q: must be one of %s.", field, clip(value), joined(known))
		}
	}
	return nil
}

func joined[T ~string](words []T) string {
	parts := make([]string, len(words))
	for n, word := range words {
		parts[n] = string(word)
	}
	return strings.Join(parts, ", ")
}

func (a *API) getTask(ctx context.Context, in *IDPath) (*bodyOut[client.Task], error) {
	t, err := a.readTask(ctx, in.ID)
	t.Why = explain.Why(t, a.outage(ctx, t))
	return body(t, err)
}

func (a *API) patchTask(ctx context.Context, in *changeIn[client.UpdateTaskRequest]) (*bodyOut[client.Task], error) {
	if err := checkPatch(in.Body); err != nil {
		return nil, err
	}
	if err := checkFixedOfTask(in.ID, in.Body.FixedTaskFields); err != nil {
		return nil, err
	}
	change := client.TaskChange{
		Title: in.Body.Title, Description: in.Body.Description, TaskType: in.Body.TaskType, PhaseID: in.Body.PhaseID,
		Priority: in.Body.Priority,
	}
	if in.Body.DeadlineAt != nil {
		var err error
		if change.DeadlineAt, err = checkDeadline(*in.Body.DeadlineAt); err != nil {
			return nil, err
		}
	}
	if err := a.deps.Tasks.ChangeTask(ctx, callerOf(ctx).organization, in.ID, change); err != nil {
		return nil, err
	}
	a.deps.Bus.Wake(live.Task(in.ID))
	return a.getTask(ctx, &in.IDPath)
}

func checkPatch(p client.UpdateTaskRequest) error {
	if p.Title != nil {
		if err := checkTitle("title", *p.Title); err != nil {
			return err
		}
	}
	if p.Description != nil {
		if strings.TrimSpace(*p.Description) == "" {
			return task.Invalid("description", "The description must not be empty.")
		}
		if err := checkText("description", *p.Description, maxDescription); err != nil {
			return err
		}
	}
	if p.TaskType != nil {
		if err := checkTaskType(*p.TaskType); err != nil {
			return err
		}
	}
	return cmp.Or(checkWord("phase_id", p.PhaseID, task.Phases()), checkWord("priority", p.Priority, task.Priorities()))
}

// checkWord rejects a value that is not allowed; nil: the field is absent.
func checkWord(field string, value *string, allowed []string) error {
	if value == nil {
		return nil
	}
	if *value == "" {
		return task.Invalid(field, "The %s must be one of %s.", field, strings.Join(allowed, ", "))
	}
	_, err := oneOf(field, *value, "", allowed)
	return err
}

// checkFixedOfTask rejects the fields of a task that are immutable or have a route of their own.
func checkFixedOfTask(id string, f client.FixedTaskFields) error {
	const stays, fixed = "the task stays where it was created", "it is fixed at creation. Next: create another task"
	return checkFixed("task", []fixedField{
		{"ticket_id", f.TicketID, stays},
		{"project_id", f.ProjectID, stays},
		{"repo", f.Repo, stays},
		{"mode", f.Mode, fixed},
		{"agent", f.Agent, fixed},
		{"provider", f.Provider, fixed},
		{"sandbox", f.Sandbox, fixed},
		{"max_retries", f.MaxRetries, fixed},
		{"validate", f.Validate, fixed},
		{"execution_config", f.Execution, fixed},
		{"dependencies", f.DependsOn, "use the routes below /api/v1/tasks/" + id + "/dependencies"},
		{"budget", f.Budget, "use PUT /api/v1/tasks/" + id + "/budget"},
		{"contract", f.Contract, "use PUT /api/v1/tasks/" + id + "/contract"},
	})
}

type diffOut struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (a *API) diffTask(ctx context.Context, in *IDPath) (*diffOut, error) {
	t, err := a.readTask(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if t.Branch == nil || t.Base == nil || t.Repo == "" {
		return nil, task.Errorf(task.CodeNotFound, "Task %s has no diff: its branch does not exist yet.", t.ID)
	}
	diff := &bounded{left: maxDiff}
	if err := a.deps.Repos.Diff(ctx, scm.Owner{UserID: t.UserID, ProjectID: t.ProjectID}, BranchDiff{t.Repo, *t.Base, *t.Branch}, diff); err != nil {
		return nil, a.withoutBranch(ctx, t, err)
	}
	return &diffOut{ContentType: "text/plain; charset=utf-8", Body: diff.kept.Bytes()}, nil
}

// withoutBranch returns the error of a missing branch. Retention removes branches without own commits, and then the
// error says so.
func (a *API) withoutBranch(ctx context.Context, t client.Task, err error) error {
	if e, ok := errors.AsType[*task.Error](err); !ok || e.Field != "branch" {
		return err
	}
	for _, attempt := range t.Attempts {
		if attempt.HeadCommit != nil && *attempt.HeadCommit != *t.Base {
			return err
		}
	}
	return cmp.Or(a.deps.SavedWork.BranchKept(ctx, t.ID), err)
}

// bounded is a buffer of limited length. It does not embed the buffer, whose ReadFrom and WriteString would bypass
// Write.
type bounded struct {
	kept bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, task.Errorf(task.CodeExhausted,
			"The diff is too long. Next: fetch the branch, and run git diff").WithKind(task.KindDiffTooLong)
	}
	b.left -= len(p)
	return b.kept.Write(p)
}
