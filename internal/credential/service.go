package credential

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Config configures a [Service].
type Config struct {
	// Installation holds the configured credentials by kind. They serve only Organization, the organization of the
	// installation.
	Installation map[string]Value
	Organization string

	// Base URLs of the APIs that Test calls. Empty: those of GitHub and Anthropic.
	GitHubURL    string
	AnthropicURL string
	// TestPrivate allows Test to call addresses in the server's own network. Configured URLs are always allowed.
	TestPrivate bool
	// Subscriptions allows several subscriptions of one owner.
	Subscriptions bool
}

// Service stores and finds credentials. Safe for concurrent use.
type Service struct {
	cfg   Config
	ring  *Ring
	store Store
	reach reach
	app   App // nil: none is configured
}

// New returns a service.
func New(cfg Config, ring *Ring, store Store) *Service {
	return &Service{cfg: cfg, ring: ring, store: store, reach: newReach(cfg)}
}

// Credential is a credential without its secret.
type Credential struct {
	Kind      string     `json:"kind" doc:"What the credential is for: anthropic, claude_oauth, github, or another model provider. More values may be added."`
	Scope     string     `json:"scope" enum:"user,project,organization,app,installation" doc:"Owner: user is the caller; app, the GitHub App of the configuration; installation, the rest of the configuration. More values may be added."`
	Number    int        `json:"number" doc:"Order among the credentials of this owner and kind, from 1: while a credential is rate limited, new attempts use the next one."`
	ProjectID string     `json:"project_id,omitempty" doc:"ID of the owning project. Absent: the scope is not project."`
	Masked    string     `json:"masked" doc:"End of the secret, to tell two apart; of the scope app, the App's name. Empty: the secret cannot be decrypted."`
	BaseURL   string     `json:"base_url,omitempty" doc:"URL of a compatible endpoint. Absent: the model provider's own."`
	Bearer    bool       `json:"bearer,omitempty" doc:"true: the key is sent as Authorization: Bearer. Absent: no."`
	State     string     `json:"state" enum:"valid,undecryptable" doc:"undecryptable: the server lacks the key of the credential; set the credential again. More values may be added."`
	KeyID     string     `json:"key_id,omitempty" doc:"ID of the server's key that encrypts the credential. Absent: configured, not stored."`
	UpdatedAt *time.Time `json:"updated_at,omitempty" doc:"When a user last set the credential. Absent: configured, not stored."`
	UsedAt    *time.Time `json:"used_at,omitempty" doc:"When a task last received the credential, exact to a minute. Absent: never, or not stored."`
	ResetsAt  *time.Time `json:"resets_at,omitempty" doc:"When the cooldown of the credential ends, and one task tries it again. Absent: the credential is not rate limited, or not stored."`
	Models
}

// States of a credential.
const (
	StateValid         = "valid"
	StateUndecryptable = "undecryptable"
)

// Set stores a credential and replaces the previous one of the place.
func (s *Service) Set(ctx context.Context, p Place, v Value) (Credential, error) {
	if err := cmp.Or(v.Check(p.Kind), p.check(), s.allowed(p)); err != nil {
		return Credential{}, err
	}
	row, err := s.store.PutCredential(ctx, p, s.ring.first, s.ring.seal(p, v))
	if err != nil {
		return Credential{}, fmt.Errorf("store credential %s: %w", p.Kind, err)
	}
	return s.info(row), nil
}

// allowed refuses a further subscription unless the operator allows it.
func (s *Service) allowed(p Place) error {
	if p.Number < 2 || !IsSubscription(p.Kind) || s.cfg.Subscriptions {
		return nil
	}
	return task.Errorf(task.CodeForbidden, "This installation allows one %s for each owner: the provider's terms may forbid that another subscription takes over at a rate limit. "+
		"Next: an operator who has read the terms sets OMOI_CREDENTIAL_ALLOW_SEVERAL_SUBSCRIPTIONS=true", nameOf(p.Kind))
}

// Remove deletes the credential of a place. The error has [task.CodeNotFound] if none exists.
func (s *Service) Remove(ctx context.Context, p Place) error {
	if err := cmp.Or(CheckKind(p.Kind), p.check()); err != nil {
		return err
	}
	had, err := s.store.DropCredential(ctx, p)
	if err == nil && !had {
		err = task.Errorf(task.CodeNotFound, "No %s with the number %d stored for the %s. Next: omoi credentials list", nameOf(p.Kind), max(p.Number, 1), p.Scope())
	}
	return err
}

// List returns the credentials that a user can see: those of the user, of the projects and of the organization, and
// those of the configuration.
func (s *Service) List(ctx context.Context, w Who) ([]Credential, error) {
	rows, err := s.store.Credentials(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	limited, err := s.store.Cooldowns(ctx, w.OrganizationID)
	if err != nil {
		return nil, fmt.Errorf("list cooldowns of credentials: %w", err)
	}
	all := []Credential{}
	for _, row := range rows {
		out := s.info(row)
		if c, active := limited[row.name()]; active {
			out.ResetsAt = &c.Until
		}
		all = append(all, out)
	}
	if s.appFor(w) {
		all = append(all, Credential{Kind: GitHub, Scope: ScopeApp, Number: 1, State: StateValid, Masked: s.app.Name()})
	}
	for _, kind := range s.configured(w) {
		all = append(all, shown(Credential{Kind: kind, Scope: ScopeInstallation, Number: 1}, s.cfg.Installation[kind]))
	}
	return all, nil
}

// configured returns the kinds in the configuration that w may use, sorted.
func (s *Service) configured(w Who) []string {
	var kinds []string
	if w.OrganizationID == s.cfg.Organization {
		for kind, v := range s.cfg.Installation {
			if v.Secret != "" {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

func (s *Service) info(row Row) Credential {
	out := Credential{Kind: row.Kind, Scope: row.Scope(), Number: max(row.Number, 1), ProjectID: row.ProjectID, KeyID: row.KeyID, UpdatedAt: &row.UpdatedAt, UsedAt: row.UsedAt}
	v, err := s.ring.open(row)
	if err != nil {
		out.State = StateUndecryptable
		return out
	}
	return shown(out, v)
}

func shown(out Credential, v Value) Credential {
	out.State, out.Masked, out.BaseURL, out.Bearer, out.Models = StateValid, Masked(v.Secret), shownAddress(v.BaseURL), v.Bearer, v.Models
	return out
}
