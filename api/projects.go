package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Projects stores projects.
type Projects interface {
	CreateProject(ctx context.Context, p client.Project) (client.Project, error)
	Project(ctx context.Context, organizationID, id string) (client.Project, error)
	Projects(ctx context.Context, organizationID string, p client.PageRequest) (client.Page[client.Project], error)
	// ProjectOf returns the ID of a repository's project; empty if there is none yet.
	ProjectOf(ctx context.Context, organizationID, repo string) (id string, err error)
	// ProjectDeletion previews DeleteProject, which returns [task.CodeConflict] while tasks of the project are open.
	ProjectDeletion(ctx context.Context, organizationID, id string) (client.ProjectDeletion, error)
	DeleteProject(ctx context.Context, organizationID, id string) error
	ChangeProject(ctx context.Context, organizationID, id string, c client.UpdateProjectRequest) (client.Project, error)
}

const maxName = 255

func (a *API) createProject(
	ctx context.Context, in *bodyIn[client.CreateProjectRequest],
) (*madeOut[client.Project], error) {
	p, err := a.draftProject(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	p.OrganizationID = callerOf(ctx).organization
	made, err := a.deps.Projects.CreateProject(ctx, p)
	return &madeOut[client.Project]{Status: http.StatusCreated, Location: "/api/v1/projects/" + made.ID, Body: made}, err
}

func (a *API) draftProject(ctx context.Context, in client.CreateProjectRequest) (client.Project, error) {
	p := client.Project{
		Description: in.Description, DefaultBranch: in.DefaultBranch,
		Setup: in.Setup, SetupTimeoutS: in.SetupTimeoutS, MaxSlots: a.cfg.ProjectSlots,
		Autonomous: in.Autonomous == nil || *in.Autonomous,
		OnFeedback: in.OnFeedback,
	}
	if in.MaxSlots != nil {
		p.MaxSlots = *in.MaxSlots
	}
	var err error
	p.Repo, err = a.checkRepo(ctx, in.Repo)
	if errors.Is(err, scm.ErrNoCredential) { // a credential of the project can be stored once the project exists
		p.Repo, err = a.deps.Repos.Name(in.Repo), nil
	}
	if err != nil {
		return p, err
	}
	if p.Key, err = checkKey(in.Key); err != nil {
		return p, err
	}
	p.Name = in.Name // if empty, the store uses the name of the repository
	if err := checkProject(new(cmp.Or(in.Name, client.NameOfRepo(p.Repo))), &p.Description, &p.DefaultBranch); err != nil {
		return p, err
	}
	if err := checkSetup(&p.Setup); err != nil {
		return p, err
	}
	p.Settings, err = checkSettings(in.Settings)
	return p, err
}

// checkKey returns the key that a request chooses for a project, in upper case; empty: none.
func checkKey(chosen string) (string, error) {
	key, ok := task.KeyOf(task.KeyedProject, chosen)
	if chosen != "" && !ok {
		return "", task.Invalid("key", "%q is not a valid key: expected 2 to 10 letters and digits, a letter first.", clip(chosen))
	}
	return key, nil
}

// checkProject checks the texts of a project; nil is valid.
func checkProject(name, description, branch *string) error {
	if name != nil {
		if err := checkTitle("name", *name); err != nil {
			return err
		}
		if len(*name) > maxName {
			return task.Invalid("name", "The name has %d bytes: at most %d are allowed.", len(*name), maxName)
		}
	}
	if description != nil {
		if err := checkText("description", *description, maxDescription); err != nil {
			return err
		}
	}
	if branch != nil && strings.ContainsAny(*branch, " ~^:?*[\\\x00\n\t") {
		return task.Invalid("default_branch", "Invalid default_branch %q: it is not a valid branch name of git.", clip(*branch))
	}
	return nil
}

// maxSetup is the maximum length of a setup step. A longer one belongs in a script in the repository.
const maxSetup = 20_000

func checkSetup(setup *string) error {
	if setup == nil {
		return nil
	}
	return checkText("setup", *setup, maxSetup)
}

func (a *API) patchProject(
	ctx context.Context, in *changeIn[client.UpdateProjectRequest],
) (*bodyOut[client.Project], error) {
	b := in.Body
	if err := checkFixed("project", []fixedField{{"key", b.Key, "it is fixed at creation, since the keys of tasks contain it"}}); err != nil {
		return nil, err
	}
	if err := checkProject(b.Name, b.Description, b.DefaultBranch); err != nil {
		return nil, err
	}
	if err := checkSetup(b.Setup); err != nil {
		return nil, err
	}
	var err error
	if b.Settings, err = checkSettings(b.Settings); err != nil {
		return nil, err
	}
	if err := a.checkSameRepo(ctx, in.ID, b.Repo); err != nil {
		return nil, err
	}
	return body(a.deps.Projects.ChangeProject(ctx, callerOf(ctx).organization, in.ID, b))
}

// checkSameRepo rejects a repository other than that of the project; nil is valid.
func (a *API) checkSameRepo(ctx context.Context, id string, repo *string) error {
	if repo == nil {
		return nil
	}
	p, err := a.deps.Projects.Project(ctx, callerOf(ctx).organization, id)
	if err != nil || p.Repo == *repo || p.Repo == a.deps.Repos.Name(*repo) {
		return err
	}
	return cannotChange("repo", "project", "the branches and pull requests of its tasks are there. Next: create another project")
}

// checkSettings checks the settings of a project, including model prices.
func checkSettings(raw json.RawMessage) (json.RawMessage, error) {
	settings, err := checkObject("settings", raw)
	if err != nil || len(settings) == 0 {
		return settings, err
	}
	var known struct {
		ModelPrices     json.RawMessage `json:"model_prices"`
		CommitLeftovers json.RawMessage `json:"commit_leftovers"`
		RepeatTests     json.RawMessage `json:"repeat_tests"`
		TestTimeout     json.RawMessage `json:"test_timeout_seconds"`
	}
	if err := json.Unmarshal(settings, &known); err != nil {
		return settings, nil //nolint:nilerr // checked above: an object, or nothing
	}
	for name, value := range map[string]json.RawMessage{"commit_leftovers": known.CommitLeftovers, "repeat_tests": known.RepeatTests} {
		if set := string(value); set != "" && set != "true" && set != "false" {
			return nil, task.Invalid("settings."+name, "The %s must be true or false.", name)
		}
	}
	if err := checkTestTimeout(known.TestTimeout); err != nil {
		return nil, err
	}
	if known.ModelPrices == nil {
		return settings, nil
	}
	var text string
	if err := json.Unmarshal(known.ModelPrices, &text); err != nil {
		return nil, task.Invalid("settings.model_prices",
			"The model_prices must be a string: model=input/output, separated by commas, in USD per million tokens.")
	}
	if _, err := cost.ParseModelPrices(text); err != nil {
		return nil, task.Invalid("settings.model_prices", "%s", task.MessageOf(err))
	}
	return settings, nil
}

// checkTestTimeout checks the time limit of one run of a test command.
func checkTestTimeout(raw json.RawMessage) error {
	var seconds float64
	if raw == nil || json.Unmarshal(raw, &seconds) == nil && seconds >= 1 && seconds <= maxTestTimeout {
		return nil
	}
	return task.Invalid("settings.test_timeout_seconds", "The test_timeout_seconds must be a number from 1 to %d.", maxTestTimeout)
}

// maxTestTimeout is the maximum of test_timeout_seconds: all runs of one repeat share an hour.
const maxTestTimeout = 3600
