package omoios

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Reasons that several kinds of rows have.
const (
	noOrganization    = "It has no organization. Next: import with --into"
	otherOrganization = "Its organization is not imported"
)

// openInto finds or creates the organization of --into.
func (r *run) openInto(ctx context.Context) error {
	if r.Into == "" {
		return nil
	}
	return r.commit(ctx, "the organization "+r.Into, func(tx pgx.Tx) (err error) {
		q := db.New(tx)
		if err = q.MakeOrganization(ctx, task.NewID(), r.Into); err == nil {
			r.into, err = q.OrganizationByName(ctx, r.Into)
		}
		return err
	})
}

// organization returns the organization of omoi for one of OmoiOS; empty: none is known.
func (r *run) organization(id *string) string {
	if r.into != "" || id == nil {
		return r.into
	}
	return idOf("organization", *id)
}

// knownOrganization returns the organization of omoi for a row, or why the row is skipped.
func (r *run) knownOrganization(ctx context.Context, q *db.Queries, id *string) (organization, reason string, err error) {
	if organization = r.organization(id); organization == "" {
		return "", noOrganization, nil
	}
	found, err := q.ImportedOrganization(ctx, organization)
	if err == nil && !found {
		reason = otherOrganization
	}
	return organization, reason, err
}

type organizationRow struct {
	ID

	Name, Slug *string
	CreatedAt  *time.Time
}

func (r *run) organizations(ctx context.Context) error {
	const table = "organizations"
	k, err := r.table(ctx, table)
	if k == nil {
		return err
	}
	query := "SELECT " + r.src.list(table, "o", "id text", "name text", "slug text", "created_at timestamptz") + " FROM organizations o ORDER BY 4, 1"
	return each(ctx, r, k, query, r.addOrganization)
}

func (r *run) addOrganization(ctx context.Context, q *db.Queries, o organizationRow) (outcome, error) {
	if r.into != "" {
		return skip("Its rows go to the organization of --into"), nil
	}
	id, was := idOf("organization", o.rowID()), task.Deref(o.Name)
	if found, err := q.ImportedOrganization(ctx, id); found || err != nil {
		return outcome{existing: found}, err
	}
	name, err := freeName(ctx, q, cmp.Or(was, id), cmp.Or(task.Deref(o.Slug), id), id)
	out := outcome{changes: renumbered("organization", o.rowID())}
	if name != was {
		out.changes = append(out.changes, "The name is taken: omoi uses the slug or the ID")
	}
	if err != nil {
		return out, err
	}
	return out, q.ImportOrganization(ctx, db.ImportOrganizationParams{ID: id, Name: name, CreatedAt: o.CreatedAt})
}

// freeName returns the first name that no organization has.
func freeName(ctx context.Context, q *db.Queries, names ...string) (string, error) {
	for _, name := range names[:len(names)-1] {
		if taken, err := q.OrganizationNamed(ctx, name); !taken || err != nil {
			return name, err
		}
	}
	return names[len(names)-1], nil
}

type userRow struct {
	ID

	Email                *string
	CreatedAt, DeletedAt *time.Time
	Owns, Joined         *string // organizations
	Memberships          int64
}

func (r *run) users(ctx context.Context) error {
	const table = "users"
	k, err := r.table(ctx, table)
	if k == nil {
		return err
	}
	return each(ctx, r, k, "SELECT "+r.src.list(table, "u", "id text", "email text", "created_at timestamptz", "deleted_at timestamptz")+
		", "+r.memberOf("u")+" FROM users u ORDER BY 3, 1", r.addUser)
}

// memberOf returns expressions for the organization that a user owns, the first one joined, and the number of those joined.
func (r *run) memberOf(user string) string {
	owns, joined := "NULL::text", "NULL::text, 0::bigint"
	if r.src.has("organizations", "owner_id") {
		owns = "(SELECT o.id::text FROM organizations o WHERE o.owner_id = " + user + ".id ORDER BY o.created_at, o.id LIMIT 1)"
	}
	if r.src.has("organization_memberships", "user_id") {
		of := " FROM organization_memberships m WHERE m.user_id = " + user + ".id"
		joined = "(SELECT m.organization_id::text" + of + " ORDER BY m.joined_at, m.organization_id LIMIT 1), (SELECT count(*)" + of + ")"
	}
	return owns + ", " + joined
}

func (r *run) addUser(ctx context.Context, q *db.Queries, u userRow) (outcome, error) {
	id := idOf("user", u.rowID())
	if _, found, err := userOf(ctx, q, id); found || err != nil {
		return outcome{existing: found}, err
	}
	if u.DeletedAt != nil {
		return skip("The user is deleted"), nil
	}
	of := u.Owns
	if of == nil {
		of = u.Joined
	}
	organization, reason, err := r.knownOrganization(ctx, q, of)
	if reason != "" || err != nil {
		return skip(reason), err
	}
	added, err := q.ImportUser(ctx, db.ImportUserParams{ID: id, OrganizationID: organization, Name: cmp.Or(task.Deref(u.Email), id), CreatedAt: u.CreatedAt})
	if added == 0 {
		return skip("The organization has another user with the name"), err
	}
	out := outcome{changes: renumbered("user", u.rowID())}
	if u.Memberships > 1 && r.into == "" {
		out.changes = append(out.changes, "A user of omoi has one organization: omoi takes the one that the user owns, else the first one joined")
	}
	return out, err
}

// userOf returns the organization of an imported user.
func userOf(ctx context.Context, q *db.Queries, id string) (organization string, found bool, err error) {
	organization, err = q.ImportedUser(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return organization, err == nil, err
}
