package credential

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// App is a GitHub App. An App ranks after stored credentials and before the token of the configuration. Tokens of an
// App are short-lived and valid only for the repositories on which the App is installed.
type App interface {
	Name() string
	// Probe asks GitHub whether the App exists and returns where the App is installed, as a sentence for users.
	Probe(ctx context.Context) (says string, err error)
}

// UseApp sets the App of the configuration. Call UseApp before the first use of the service.
func (s *Service) UseApp(app App) { s.app = app }

// appFor reports whether w may use the App. Like the rest of the configuration, the App serves only the organization
// with which the installation starts.
func (s *Service) appFor(w Who) bool {
	return s.app != nil && w.OrganizationID == s.cfg.Organization
}

func (s *Service) testApp(ctx context.Context) (Test, error) {
	v := Test{Kind: GitHub, Scope: ScopeApp, Number: 1, State: StateValid}
	says, err := s.app.Probe(ctx)
	switch task.CodeOf(err) {
	case "":
		v.Message = says
	case task.CodeForbidden:
		v.State, v.Message = StateRejected, task.MessageOf(err)
	case task.CodeUnavailable, task.CodeExhausted:
		v.State, v.Message = StateUnreachable, task.MessageOf(err)
	default:
		return v, err
	}
	return v, nil
}
