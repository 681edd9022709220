package api

import (
	"context"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// Bus notifies the waiting readers of a topic; see package live.
type Bus interface {
	Wake(topic string)
	Subscribe(topic string) (news <-chan struct{}, stop func())
	// Watch collects the topics of all notifications until stop is called.
	Watch() (w *live.Watch, stop func())
}

// Ports are the parts of the database that the API uses, each declared next to its handlers. All are required.
type Ports struct {
	Tasks         Tasks
	SavedWork     SavedWork
	Commands      Commands
	FollowUps     FollowUps
	Dependencies  Dependencies
	Projects      Projects
	Dispatch      Dispatch
	Organizations Organizations
	Budgets       Budgets
	Contracts     Contracts
	Questions     Questions
	Figures       Figures
	Tickets       Tickets
	Comparisons   Comparisons
	Sandboxes     Sandboxes
	Identities    Identities
	References    References
	Hosts         Hosts
	Keys          Keys
	EventLog      EventLog
	Readers       Readers
	Outlines      Outlines
	Messages      Messages
	Feedback      Feedback
	Transcripts   Transcripts
	Checkpoints   Checkpoints
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
	Notices       Notices
}

// Deps are the dependencies of the API. All are required unless they say that nil is allowed.
type Deps struct {
	Ports

	Intake Intake
	Bus    Bus
	Repos  Repos
	Review Review
	Tokens Tokens
	// Sessions are required with authentication.
	Sessions Sessions
	Probes   []Probe
	Log      *slog.Logger // nil: discards
	// Logins verifies JWTs; nil: JWTs are rejected.
	Logins Logins
	// Script parses a script of the scripted agent and returns its errors; nil: only the JSON form is checked.
	Script func(script []byte) error
	// Branches creates and merges branches at GitHub with the credential of the caller; nil: no Git host is configured.
	Branches Branches
	// WriteOff closes a task whose workflow was ended outside of omoi, and reports whether it did; nil: a worker does
	// so later.
	WriteOff func(ctx context.Context, taskID string) (bool, error)

	Credentials Credentials // nil: credentials cannot be stored
	NoticeRules NoticeRules // nil: notice rules cannot be stored
	Runtimes    Runtimes    // nil: no runtimes
	Judge       Judge       // nil: no analysis on demand
	// Finder returns the model that finds duplicates of one new task; nil: equal and nearly equal texts only.
	Finder    func() supervise.Finder
	Schedules Schedules // nil: Temporal is not available
	// MCP serves /mcp; its tools send the API further requests, with the credential in the header Authorization. Nil: 404.
	MCP http.Handler

	Meter   Meter                // nil: no metrics
	Metrics http.Handler         // served as /metrics; nil: 404
	Tracer  trace.TracerProvider // nil: no traces
}
