package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// Tasks keeps tasks. Errors of all methods carry the domain's codes; an id of another
// organization is [task.CodeNotFound].
type Tasks interface {
	SavedWork
	AcceptTask(ctx context.Context, d task.Draft) (task.Accepted, error)
	Task(ctx context.Context, organizationID, id string) (task.Task, error)
	Tasks(ctx context.Context, organizationID string, q client.TaskQuery) (client.Page[task.Task], error)
	ChangeTask(ctx context.Context, organizationID, id string, c client.TaskChange) error
	TaskStatus(ctx context.Context, organizationID, id string) (client.Standing, error)
}

// Commands keeps what is asked of tasks.
type Commands interface {
	AskTask(ctx context.Context, a task.Ask) (task.Asked, error)
	Command(ctx context.Context, organizationID, id string) (task.Command, error)
}

// Dependencies keeps which task waits for which.
type Dependencies interface {
	Dependencies(ctx context.Context, organizationID, taskID string) ([]string, error)
	AddDependencies(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error)
	SetDependencies(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error)
	RemoveDependency(ctx context.Context, organizationID, taskID, dependsOn string) ([]string, error)
	FindCycle(ctx context.Context, organizationID, taskID string, ids []string) ([]string, error)
}

// Projects keeps projects and tickets.
type Projects interface {
	Dispatch
	Budgets
	CreateProject(ctx context.Context, p client.Project) (client.Project, error)
	Project(ctx context.Context, organizationID, id string) (client.Project, error)
	Projects(ctx context.Context, organizationID string, p client.PageRequest) (client.Page[client.Project], error)
	// ProjectOf answers the id of a repository's project; empty if it has none yet.
	ProjectOf(ctx context.Context, organizationID, repo string) (id string, err error)
	// ProjectDeletion previews DeleteProject; that is [task.CodeConflict] while tasks of the project are open.
	ProjectDeletion(ctx context.Context, organizationID, id string) (client.ProjectDeletion, error)
	DeleteProject(ctx context.Context, organizationID, id string) error
	ChangeProject(ctx context.Context, organizationID, id string, c client.ProjectChange) (client.Project, error)
}

// Tickets reads tickets; a task that is accepted makes them.
type Tickets interface {
	Ticket(ctx context.Context, organizationID, id string) (client.Ticket, error)
	Tickets(ctx context.Context, organizationID string, projectIDs []string, p client.PageRequest) (client.Page[client.Ticket], error)
}

// Sandboxes reads the ledger.
type Sandboxes interface {
	SandboxRow(ctx context.Context, organizationID, id string, bare bool) (task.Sandbox, error)
	SandboxRows(ctx context.Context, organizationID string, q client.SandboxQuery) (client.Page[task.Sandbox], error)
	SandboxOwner(ctx context.Context, id string) (organizationID, taskID string, err error)
	// TokenLives is [task.CodeGone] once the token of a sandbox opens nothing any more.
	TokenLives(ctx context.Context, sandboxID string) error
	Hosts
}

// Hosts keeps the machines of sandboxes.
type Hosts interface {
	Hosts(ctx context.Context) ([]client.Host, error)
	// LoseHost declares one lost; [task.CodeConflict] while it still reports.
	LoseHost(ctx context.Context, id string) (client.Host, error)
}

// Keys keeps API keys, and those for whom they and logins speak.
type Keys interface {
	KeyBySecret(ctx context.Context, secret string) (client.Key, error)
	Keys(ctx context.Context, organizationID string) ([]client.Key, error)
	CreateKey(ctx context.Context, d client.KeyDraft) (client.Key, string, error)
	RevokeKey(ctx context.Context, organizationID, id string) error
	// UserOfLogin answers the user of that name, made if need be.
	UserOfLogin(ctx context.Context, organizationID, name string) (id string, err error)
}

// Events reads what sandboxes reported.
type Events interface {
	Events(ctx context.Context, q ingest.EventQuery) (ingest.EventPage, error)
	EventsAfter(ctx context.Context, sandboxID string, after int64, limit int) ([]ingest.StoredEvent, error)
	TaskEventsAfter(ctx context.Context, taskID string, after ingest.Cursor, limit int) (ingest.TaskPage, error)
	// SandboxHead answers the number of the newest event, TaskHeads that of each attempt.
	SandboxHead(ctx context.Context, sandboxID string) (int64, error)
	TaskHeads(ctx context.Context, taskID string) (map[int]int64, error)
}

// Messages keeps what is said to agents.
type Messages interface {
	AcceptMessage(ctx context.Context, m ingest.NewMessage) (ingest.Message, error)
	MessageOfKey(ctx context.Context, once ingest.MessageKey) (ingest.Message, bool, error)
	LeaseMessages(ctx context.Context, in ingest.Taking) ([]ingest.Message, error)
	// AckMessage answers whether the taker has won the message: only then may it be used.
	AckMessage(ctx context.Context, sandboxID, id, taker string) (won bool, err error)
	Message(ctx context.Context, id string) (ingest.Message, error)
	// MessageBetween answers the sandbox of the agent that another one may write to.
	MessageBetween(ctx context.Context, from, to string) (sandboxID string, err error)
	Feedback
}

// Store is everything that is kept in the database.
type Store interface {
	Tasks
	Commands
	Dependencies
	Projects
	Tickets
	Sandboxes
	Keys
	Events
	Messages
	Readers
	Transcripts
	Bulletin
	Operator
	Supervision
}

// Intake takes events in and answers after they are stored.
type Intake interface {
	Single(ctx context.Context, sandboxID string, e ingest.Event, bare bool) (ingest.Receipt, error)
	Batch(ctx context.Context, sandboxID, spoolID string, first int64, events []ingest.Event) (ingest.BatchReceipt, error)
}

// Bus wakes whoever waits for a topic; see package live.
type Bus interface {
	Wake(topic string)
	Subscribe(topic string) (news <-chan struct{}, stop func())
	// Watch collects the topics of all wake-ups until stop is called.
	Watch() (w *live.Watch, stop func())
}

// Repos looks at repositories.
type Repos interface {
	// Check says whether a repository can be worked on: [task.CodeInvalid] with the next step if not. It
	// answers the one name under which the repository is known.
	Check(ctx context.Context, who scm.Owner, repo string) (name string, err error)
	// Name answers the one name under which a repository is known, and asks nobody.
	Name(repo string) string
	// Diff writes it as a unified diff.
	Diff(ctx context.Context, who scm.Owner, of BranchDiff, w io.Writer) error
}

// BranchDiff names what a branch changed since it left its base.
type BranchDiff struct{ Repo, Base, Branch string }

// Logins judges what people and machines log in with that have no API key.
type Logins interface {
	Verify(credential string) (token.Login, error)
}

// Tokens checks the tokens of sandboxes.
type Tokens interface {
	Verify(credential, sandboxID string) error
}

// Probe is one dependency in the answer of /readyz.
type Probe struct {
	Name     string // database, temporal, relay, redis
	Required bool   // without it the server is not ready
	// Check answers nil if it works; its error's public message is shown. A nil Check means
	// that the dependency is not configured: off.
	Check func(ctx context.Context) error
	// Tell says more of one that works; nil: there is nothing to say.
	Tell func(ctx context.Context) string
}

// DownError is the error of a [Probe] that names the next command.
type DownError struct {
	Err     error
	Next    string
	NoTasks bool // no task can start
}

func (e DownError) Error() string { return e.Err.Error() }

func (e DownError) Unwrap() error { return e.Err }

// Deps are what the API works with. All are needed but those that may be nil.
type Deps struct {
	Store  Store
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
	// Branches works on GitHub for whoever asks; nil: on no remote host.
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
