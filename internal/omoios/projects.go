package omoios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

type projectRow struct {
	ID

	OrganizationID, Name, Description, Owner, Repo, Status *string
	Autonomous                                             *bool
	CreatedAt, UpdatedAt                                   *time.Time
}

func (r *run) projects(ctx context.Context) error {
	const table = "projects"
	k, err := r.table(ctx, table)
	if k == nil {
		return err
	}
	return each(ctx, r, k, "SELECT "+r.src.list(table, "p", "id text", "organization_id text", "name text", "description text", "github_owner text",
		"github_repo text", "status text", "autonomous_execution_enabled boolean", "created_at timestamptz", "updated_at timestamptz")+
		" FROM projects p ORDER BY 9, 1", r.addProject)
}

func (r *run) addProject(ctx context.Context, q *db.Queries, p projectRow) (outcome, error) {
	organization, reason, err := r.knownOrganization(ctx, q, p.OrganizationID)
	if reason != "" || err != nil {
		return skip(reason), err
	}
	id, repo := idOf("project", p.rowID()), repoOf(p.Owner, p.Repo)
	found, err := q.ImportedProject(ctx, db.ImportedProjectParams{ID: id, OrganizationID: &organization, Repo: repo})
	switch {
	case err == nil && found.OrganizationID != organization:
		return skip(elsewhere), nil
	case err == nil && found.ID == id:
		return outcome{existing: true}, nil
	case err == nil:
		return skip("Another project of the organization has its repository: its tickets go there"), nil
	case !errors.Is(err, pgx.ErrNoRows):
		return outcome{}, err
	}
	out := outcome{changes: renumbered("project", p.rowID())}
	if repo == "" && task.Deref(p.Repo) != "" {
		out.changes = append(out.changes, "The repository is left out: expected the form owner/name")
	}
	name := ""
	for n, taken := 1, true; taken; n++ {
		name = client.NumberedName(cmp.Or(task.Deref(p.Name), id), n)
		if taken, err = q.ProjectNamed(ctx, organization, name); err != nil {
			return out, err
		}
	}
	if name != task.Deref(p.Name) {
		out.changes = append(out.changes, "The name is taken or missing: omoi gives another one")
	}
	return out, q.ImportProject(ctx, db.ImportProjectParams{
		ID: id, OrganizationID: organization, Name: name, Description: task.Deref(p.Description), Repo: repo, MaxSlots: r.MaxSlots,
		Paused: task.Deref(p.Status) == "archived", Autonomous: p.Autonomous == nil || *p.Autonomous, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	})
}

// elsewhere is the reason of a row whose project, ticket or task omoi has in another organization.
const elsewhere = "omoi has it, or what it belongs to, in another organization"

// repoOf returns owner/name as omoi writes it; empty if one is missing or of another form.
func repoOf(owner, name *string) string {
	repo := task.Deref(owner) + "/" + task.Deref(name)
	if _, _, ok := scm.OwnerName(repo); !ok {
		return ""
	}
	return strings.ToLower(repo)
}

type ticketRow struct {
	ID

	ProjectID, Title, Description, PhaseID, Priority, Context *string
	CreatedAt, UpdatedAt                                      *time.Time
	OrganizationID, Owner, Repo                               *string // of the project
}

func (r *run) tickets(ctx context.Context) error {
	const table = "tickets"
	k, err := r.table(ctx, table)
	if k == nil {
		return err
	}
	return each(ctx, r, k, "SELECT "+r.src.list(table, "k", "id text", "project_id text", "title text", "description text", "phase_id text",
		"priority text", "context text", "created_at timestamptz", "updated_at timestamptz")+", "+
		r.src.list("projects", "p", "organization_id text", "github_owner text", "github_repo text")+
		" FROM tickets k"+r.src.join("projects", "p", r.src.col(table, "k", "project_id", "text"))+" ORDER BY 8, 1", r.addTicket)
}

func (r *run) addTicket(ctx context.Context, q *db.Queries, k ticketRow) (outcome, error) {
	id := idOf("ticket", k.rowID())
	if _, err := q.ImportedTicket(ctx, id); !errors.Is(err, pgx.ErrNoRows) {
		return outcome{existing: true}, err
	}
	if k.ProjectID == nil {
		return skip("It has no project, which each ticket of omoi has"), nil
	}
	organization := r.organization(k.OrganizationID)
	in := db.ImportedProjectParams{ID: idOf("project", *k.ProjectID), Repo: repoOf(k.Owner, k.Repo)}
	if organization != "" {
		in.OrganizationID = &organization
	}
	project, err := q.ImportedProject(ctx, in)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return skip("Its project is not imported"), nil
	case err != nil:
		return outcome{}, err
	case project.OrganizationID != organization:
		return skip(elsewhere), nil
	}
	out := outcome{changes: renumbered("ticket", k.rowID())}
	title := titleOf(task.Deref(k.Title), task.Deref(k.Description), "Ticket "+k.rowID())
	kind := "feature"
	if strings.Contains(strings.ToLower(title), "bug") { // as OmoiOS decides
		kind = "bug"
	}
	return out, q.ImportTicket(ctx, db.ImportTicketParams{
		ID: id, ProjectID: project.ID, Title: title, Description: task.Deref(k.Description), TicketType: kind,
		PhaseID:  out.oneOf("phase", k.PhaseID, task.Phases(), "PHASE_IMPLEMENTATION"),
		Priority: out.oneOf("priority", k.Priority, task.Priorities(), "MEDIUM"),
		Context:  out.object(k.Context), CreatedAt: k.CreatedAt, UpdatedAt: k.UpdatedAt,
	})
}

// oneOf returns value if omoi knows it, else other, which is a change.
func (o *outcome) oneOf(field string, value *string, known []string, other string) string {
	word := strings.ToUpper(task.Deref(value))
	if slices.Contains(known, word) {
		return word
	}
	o.changes = append(o.changes, "Unknown or missing "+field+": omoi uses "+other)
	return other
}

// maxTitle is the maximum number of characters of a title.
const maxTitle = 500

// titleOf returns the first line of the first text that is not empty.
func titleOf(texts ...string) string {
	for _, text := range texts {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if runes := []rune(strings.TrimSpace(line)); len(runes) > 0 {
			return string(runes[:min(len(runes), maxTitle)])
		}
	}
	return ""
}

// object returns a JSON object; an empty one for anything else. A character that omoi cannot store becomes U+FFFD, which is a change.
func (o *outcome) object(text *string) json.RawMessage {
	var object map[string]json.RawMessage
	if text == nil || json.Unmarshal([]byte(*text), &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	stored := ingest.Storable([]byte(*text))
	if string(stored) != *text {
		o.changes = append(o.changes, unstorable)
	}
	return stored
}

const unstorable = `A character that omoi cannot store, for example \u0000, becomes U+FFFD`
