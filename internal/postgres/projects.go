package postgres

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// CreateProject stores a project. [task.CodeConflict] if the organization has a project with the same repository, name
// or key. The default key is made of the name. The default name is that of the repository, with a number if that name
// is taken.
func (s *Store) CreateProject(ctx context.Context, p client.Project) (client.Project, error) {
	if p.Name != "" {
		return s.insertProject(ctx, p)
	}
	for n := 1; ; n++ {
		p.Name = client.NumberedName(client.NameOfRepo(p.Repo), n)
		if made, err := s.insertProject(ctx, p); !errors.Is(err, errNameTaken) {
			return made, err
		}
	}
}

var errNameTaken = errors.New("another project of the organization has the name")

// nameTaken returns the error for a name that another project of the organization has.
func nameTaken(name string) error {
	return task.Errorf(task.CodeConflict, "Another project is called %s. Next: omoi project list", name).WithKind(task.KindNameTaken).WithCause(errNameTaken)
}

func (s *Store) insertProject(ctx context.Context, p client.Project) (client.Project, error) {
	row, err := s.q.InsertProject(ctx, db.InsertProjectParams{
		ID: task.NewID(), OrganizationID: p.OrganizationID, Name: p.Name, Description: p.Description, Repo: p.Repo,
		DefaultBranch: p.DefaultBranch, MaxSlots: p.MaxSlots, Autonomous: p.Autonomous,
		Settings: objectOr(p.Settings), Setup: p.Setup, SetupTimeoutS: p.SetupTimeoutS,
		OnFeedback: string(cmp.Or(p.OnFeedback, feedback.ModeOff)), Key: orNull(p.Key),
	})
	if violates(err, "projects_repo") {
		return client.Project{}, s.thereIs(ctx, p)
	}
	if violates(err, "projects_name") {
		return client.Project{}, nameTaken(p.Name)
	}
	if violates(err, "projects_key") {
		return client.Project{}, task.Errorf(task.CodeConflict, "Another project has, or had, the key %s. Next: choose another key", p.Key).
			WithKind(task.KindNameTaken)
	}
	return projectOf(row), translate("create project "+p.Name, err)
}

// thereIs returns the error that names the project with the repository.
func (s *Store) thereIs(ctx context.Context, p client.Project) error {
	row, err := s.q.ProjectByRepo(ctx, p.OrganizationID, p.Repo)
	if err != nil {
		return task.Errorf(task.CodeConflict, "Another project has the repository %s. Next: omoi project list", p.Repo).WithKind(task.KindNameTaken).WithCause(err)
	}
	called := row.Name
	if !plainName(called) {
		called = row.ID
	}
	return task.Errorf(task.CodeConflict, "Project %[2]s already has the repository %[1]s. Next: to change its settings, omoi project update %[3]s --setup <command> (--help lists the others)", p.Repo, row.Name, called).WithKind(task.KindNameTaken)
}

// plainName reports whether a name needs no quotes on a command line.
func plainName(name string) bool {
	return name != "" && name[0] != '-' && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-") == ""
}

// Project returns a project of an organization.
func (s *Store) Project(ctx context.Context, organizationID, id string) (client.Project, error) {
	row, err := s.q.ProjectByID(ctx, organizationID, id)
	return projectOf(row), missing(translate("read project "+id, err), "There is no project %s.", id)
}

// IDByKey returns the ID of the project, task or ticket of an organization that has the key.
func (s *Store) IDByKey(ctx context.Context, organizationID, key string) (string, error) {
	id, err := s.q.IDByKey(ctx, organizationID, key)
	return id, missing(translate("look up the key "+key, err), "There is no %s.", key)
}

// ProjectOf returns the ID of a repository's project; empty if there is none.
func (s *Store) ProjectOf(ctx context.Context, organizationID, repo string) (string, error) {
	row, _, err := maybe(s.q.ProjectByRepo(ctx, organizationID, repo))
	return row.ID, translate("find the project of "+repo, err)
}

// Projects lists the projects of an organization, newest first.
func (s *Store) Projects(ctx context.Context, organizationID string, page client.PageRequest) (client.Page[client.Project], error) {
	found, err := pageOf(page, func(p place) ([]db.Project, error) {
		return s.q.ListProjects(ctx, db.ListProjectsParams{OrganizationID: organizationID, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows})
	}, projectOf, func(p client.Project) (time.Time, string) { return p.CreatedAt, p.ID })
	return found, translate("list projects", err)
}

// ChangeProject changes settings of a project and runs admission.
func (s *Store) ChangeProject(ctx context.Context, organizationID, id string, c client.UpdateProjectRequest) (client.Project, error) {
	row, err := txResult(ctx, s, func(q *db.Queries) (db.Project, error) {
		row, err := q.UpdateProject(ctx, db.UpdateProjectParams{
			Name: c.Name, Description: c.Description, DefaultBranch: c.DefaultBranch, MaxSlots: c.MaxSlots,
			Paused: c.Paused, Autonomous: c.Autonomous, AgentsMayMessage: c.AllowAgentMessages, NamesSteering: c.AutoSteering.Named, AutoSteering: c.AutoSteering.To, Settings: c.Settings,
			Setup: c.Setup, SetupTimeoutS: c.SetupTimeoutS, OnFeedback: (*string)(c.OnFeedback), OrganizationID: organizationID, ID: id,
		})
		if err != nil {
			return row, err
		}
		return row, admitAll(ctx, q, organizationID)
	})
	if violates(err, "projects_name") {
		return client.Project{}, nameTaken(*c.Name)
	}
	return projectOf(row), missing(translate("change project "+id, err), "There is no project %s.", id)
}

func projectOf(row db.Project) client.Project {
	return client.Project{
		ID: row.ID, Key: row.Key, OrganizationID: row.OrganizationID, Name: row.Name, Description: row.Description, Repo: row.Repo,
		DefaultBranch: row.DefaultBranch, MaxSlots: row.MaxSlots, Paused: row.Paused,
		Autonomous: row.AutonomousExecutionEnabled, AllowAgentMessages: row.AgentsMayMessage, AutoSteering: row.AutoSteering,
		OnFeedback: feedback.Mode(row.OnFeedback), Settings: row.Settings,
		Setup: row.Setup, SetupTimeoutS: row.SetupTimeoutS, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// missing replaces the message of a [task.CodeNotFound] error.
func missing(err error, format string, args ...any) error {
	if task.CodeOf(err) != task.CodeNotFound {
		return err
	}
	return task.Errorf(task.CodeNotFound, format, args...).WithCause(err)
}

func objectOr(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`)
	}
	return raw
}

// place is the start of a page: after a row, or nil for the newest. rows is one more than the page size, which shows
// whether another page follows.
type place struct {
	at   *time.Time
	id   *string
	rows int
}

// defaultLimit is the default page size.
const defaultLimit = 100

// pageOf reads a page of a list; key returns the values by which the list is ordered.
func pageOf[R, T any](p client.PageRequest, read func(place) ([]R, error), record func(R) T, key func(T) (time.Time, string)) (client.Page[T], error) {
	p.Limit = cmp.Or(p.Limit, defaultLimit)
	at, id, err := decodeCursor(p.Cursor)
	if err != nil {
		return client.Page[T]{}, err
	}
	rows, err := read(place{at, id, p.Limit + 1})
	// the cursor contains an ID of another type
	if p.Cursor != "" && task.CodeOf(translate("read a page", err)) == task.CodeInvalid {
		err = task.InvalidCursor("cursor")
	}
	page := client.Page[T]{Items: mapAll(rows[:min(len(rows), p.Limit)], record)}
	if len(rows) > p.Limit {
		page.NextCursor = new(encodeCursor(key(page.Items[p.Limit-1])))
	}
	return page, err
}

// encodeCursor returns an opaque cursor with the sort key of a row.
func encodeCursor(at time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(at.UTC().Format(time.RFC3339Nano) + " " + id))
}

func decodeCursor(cursor string) (*time.Time, *string, error) {
	if cursor == "" {
		return nil, nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	when, id, ok := strings.Cut(string(raw), " ")
	at, err2 := time.Parse(time.RFC3339Nano, when)
	if err != nil || err2 != nil || !ok {
		return nil, nil, task.InvalidCursor("cursor")
	}
	return &at, &id, nil
}
