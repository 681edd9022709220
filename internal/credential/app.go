package credential

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// App is a GitHub App. It ranks between the credentials of users and the token of the configuration. Its tokens are
// short-lived and valid only for the repositories on which the App is installed.
type App interface {
	Name() string
	// Probe asks GitHub whether it knows the App, and says where it is installed.
	Probe(ctx context.Context) (says string, err error)
}

// UseApp adds the App of the configuration; it is called before the service is used.
func (s *Service) UseApp(app App) { s.app = app }

// appFor reports whether w may use the App. Like the rest of the configuration, the App serves only the organization with
// which the installation starts.
func (s *Service) appFor(w Who) bool {
	return s.app != nil && w.OrganizationID == s.cfg.Organization
}

func (s *Service) testApp(ctx context.Context) (Test, error) {
	v := Test{Kind: GitHub, Scope: ScopeApp, State: StateValid}
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
