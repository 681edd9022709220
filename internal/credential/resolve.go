package credential

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Found is a credential in use, with its kind and scope.
type Found struct {
	Value

	Kind   string
	Scope  string
	Number int    // among the credentials of this owner and kind, from 1
	rowID  string // empty: from the configuration
}

// nameOf returns the name of a kind for users.
func nameOf(kind string) string {
	switch kind {
	case Anthropic:
		return "Anthropic API key"
	case ClaudeOAuth:
		return "Claude subscription token"
	case GitHub:
		return "GitHub token"
	case Model:
		return "Anthropic API key or Claude subscription token"
	}
	return "credential " + kind
}

// KindsOf returns the kinds that a name stands for, the preferred one first.
func KindsOf(name string) []string {
	if name == Model {
		return []string{ClaudeOAuth, Anthropic}
	}
	return []string{name}
}

// Find returns the first credential that exists of the user, the project, the organization and the configuration. name
// is a kind or [Model]. If none exists, the error has [task.CodeNotFound] and the next step. A credential that cannot
// be decrypted is an error: Find does not fall back to the next. A number other than 0 finds only credentials with this
// number.
func (s *Service) Find(ctx context.Context, w Who, name string, number int) (Found, error) {
	rows, err := s.store.Credentials(ctx, w)
	if err != nil {
		return Found{}, fmt.Errorf("find the %s: %w", nameOf(name), err)
	}
	if number > 0 {
		rows = slices.DeleteFunc(rows, func(r Row) bool { return max(r.Number, 1) != number })
	}
	if number > 1 && len(nearest(rows, w, name)) == 0 { // the configuration has a first credential only
		return Found{}, task.Errorf(task.CodeNotFound, "No %s with the number %d. Next: omoi credentials list", nameOf(name), number)
	}
	return s.choose(rows, w, name, "")
}

// choose returns the credential with the name used, which an attempt was given, else the first one that exists.
func (s *Service) choose(rows []Row, w Who, name, used string) (Found, error) {
	all := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return !strings.HasPrefix(used, OfStored(r.ID)) || !slices.Contains(KindsOf(name), r.Kind) || !fits(r, w)
	})
	if len(all) == 0 {
		all = nearest(rows, w, name)
	}
	if len(all) > 0 {
		return s.open(all[0])
	}
	for _, kind := range KindsOf(name) {
		if slices.Contains(s.configured(w), kind) {
			return Found{Value: s.withModel(s.cfg.Installation[kind], kind), Kind: kind, Scope: ScopeInstallation, Number: 1}, nil
		}
	}
	return Found{}, missing(name)
}

func (s *Service) open(row Row) (Found, error) {
	v, err := s.ring.open(row)
	return Found{Value: s.withModel(v, row.Kind), Kind: row.Kind, Scope: row.Scope(), Number: max(row.Number, 1), rowID: row.ID}, err
}

// nearest returns the rows of the first owner of the user, the project and the organization that has any, and of the
// first kind, ordered by number.
func nearest(rows []Row, w Who, name string) []Row {
	for _, scope := range []string{ScopeUser, ScopeProject, ScopeOrganization} {
		for _, kind := range KindsOf(name) {
			all := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Kind != kind || r.Scope() != scope || !fits(r, w) })
			slices.SortFunc(all, func(a, b Row) int { return cmp.Compare(a.Number, b.Number) })
			if len(all) > 0 {
				return all
			}
		}
	}
	return nil
}

// fits reports whether r belongs to w's user or project, or to the whole organization.
func fits(r Row, w Who) bool {
	return (r.UserID == "" || r.UserID == w.UserID) && (r.ProjectID == "" || r.ProjectID == w.ProjectID)
}

// withModel sets the configured model if v names none and has the configured base URL.
func (s *Service) withModel(v Value, kind string) Value {
	own := s.cfg.Installation[Anthropic]
	if (kind == Anthropic || kind == ClaudeOAuth) && v.BaseURL == own.BaseURL {
		v.Model = cmp.Or(v.Model, own.Model)
	}
	return v
}

func missing(name string) error {
	next := name
	if name == Model {
		next = Anthropic
	}
	return task.Errorf(task.CodeNotFound, "No %s found for the user, project, organization or server. Next: omoi credentials set %s",
		nameOf(name), next).WithReason(task.NoCredential(next))
}

// Token returns the GitHub token with which a user works on a project; either ID may be empty. own reports that the
// token is stored. ours reports that the organization may use the configuration's credentials; ours is valid with
// [task.CodeUnauthorized] too, which reports that no token exists.
func (s *Service) Token(ctx context.Context, userID, projectID string) (token string, own, ours bool, err error) {
	who, err := s.whoIs(ctx, userID, projectID)
	if err != nil {
		return "", false, false, err
	}
	ours = who.OrganizationID == s.cfg.Organization
	found, err := s.Find(ctx, who, GitHub, 0)
	if task.CodeOf(err) == task.CodeNotFound {
		err = task.Errorf(task.CodeUnauthorized, "%s", task.MessageOf(err))
	}
	if err != nil {
		return "", false, ours, err
	}
	return found.Secret, found.rowID != "", ours, s.used(ctx, found)
}

// whoIs returns the organization of a user or a project. Without both IDs the organization is that of the installation.
func (s *Service) whoIs(ctx context.Context, userID, projectID string) (Who, error) {
	who := Who{OrganizationID: s.cfg.Organization, UserID: userID, ProjectID: projectID}
	if userID == "" && projectID == "" {
		return who, nil
	}
	var err error
	if who.OrganizationID, err = s.store.OrganizationOf(ctx, userID, projectID); err != nil {
		return who, fmt.Errorf("find the %s: %w", nameOf(GitHub), err)
	}
	return who, nil
}
