package api

import (
	"context"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/omoi-dev/omoi/internal/live"
)

// Bus notifies the waiting readers of a topic; see package live.
type Bus interface {
	Wake(topic string)
	Subscribe(topic string) (news <-chan struct{}, stop func())
	// Watch collects the topics of all wake-ups until stop is called.
	Watch() (w *live.Watch, stop func())
}

// Ports are the parts of the database that the API works with, each declared beside the handlers that use it. All are
// required.
type Ports struct {
	Tasks         Tasks
	SavedWork     SavedWork
	Commands      Commands
	Dependencies  Dependencies
	Projects      Projects
	Dispatch      Dispatch
	Organizations Organizations
	Budgets       Budgets
	Tickets       Tickets
	Sandboxes     Sandboxes
	Identities    Identities
	References    References
	Hosts         Hosts
	Keys          Keys
	EventLog      EventLog
	Readers       Readers
	Messages      Messages
	Feedback      Feedback
	Transcripts   Transcripts
	Bulletin      Bulletin
	Storage       Storage
	Receipts      Receipts
	Visits        Visits
	Logs          Logs
	Guardian      Guardian
	Actions       Actions
	Monitored     Monitored
	Explaining    Explaining
	Conducting    Conducting
}

// Deps are what the API works with. All are required but those that may be nil.
type Deps struct {
	Ports

	Intake Intake
	Bus    Bus
	Repos  Repos
	Tokens Tokens
	Probes []Probe
	Log    *slog.Logger // nil: discards
	// Logins judges JWTs; nil: none is taken.
	Logins Logins
	// Script reads a script of the scripted agent and says what is wrong with it; nil: only its form is looked at.
	Script func(script []byte) error
	// Branches creates and merges branches at GitHub with the credential of the caller; nil: no Git host is configured.
	Branches Branches
	// WriteOff writes a task off whose workflow was ended from outside, and reports whether it did; nil: others find out.
	WriteOff func(ctx context.Context, taskID string) (bool, error)

	Credentials Credentials // nil: none are kept
	Runtimes    Runtimes    // nil: there are none
	Judge       Judge       // nil: nobody is judged on demand
	Schedules   Schedules   // nil: there is no Temporal to ask

	Meter   Meter                // nil: nobody counts
	Metrics http.Handler         // shown as /metrics; nil: 404
	Tracer  trace.TracerProvider // nil: nothing is traced
}
