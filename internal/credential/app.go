package credential

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// App is a GitHub App. It stands between what people have set and the token of the configuration: its tokens are
// short-lived and good for the repositories alone on which it was installed.
type App interface {
	Name() string
	// Probe asks GitHub whether it knows the App, and says where it is installed.
	Probe(ctx context.Context) (says string, err error)
}

// UseApp adds the App of the configuration; it is called before the service is used.
func (s *Service) UseApp(app App) { s.app = app }

// appFor reports whether somebody may work with the App: it serves the organization that the installation starts with
// alone, as all of the configuration.
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
