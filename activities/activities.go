package activities

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// Config is what activities are told once.
type Config struct {
	// HostID is the machine that this process runs on; sandboxes of other machines are unknown here.
	HostID string
	// APIURL is the base of the API as a sandbox reaches it, without a trailing slash.
	APIURL string
	// Open says that the API asks for no login: old workers need no token in their callback then.
	Open        bool
	IdleTimeout time.Duration // for which an agent may wait for messages
	ToolTimeout time.Duration // for which one tool call counts as work

	Limits   sandbox.Limits // of every sandbox; zero: the provider's default
	Network  sandbox.Network
	Lifetime time.Duration // after which a provider deletes by itself; zero: never

	AgentHeartbeat time.Duration
	StopGrace      time.Duration     // between SIGTERM and SIGKILL
	ModelPrices    string            // of the configuration; see [cost.ParseModelPrices]
	PricesDate     string            // of those; empty: not said
	Programs       map[string]string // paths of agent programs on this machine, by runtime; sandboxes bring the others
	AuthorName     string            // of the agent's commits
	AuthorEmail    string

	Pull         []string      // providers whose agents reach nothing: a worker carries for them
	PullInterval time.Duration // between two looks at a quiet agent's outbox
	PullTurn     time.Duration // of carrying, before the workflow is told; default [contract.PullTurn]

	MaxBundleBytes int64         // of the work that is read out of a sandbox; default 512 MiB
	MaxPatchBytes  int64         // of work that is kept as a text; default 16 MiB
	SalvageWindow  time.Duration // how long unreachable work is waited for; default 5 min

	Grace   time.Duration // before a sandbox without a live attempt is an orphan, and a task without an open workflow is written off
	Overdue time.Duration // before a sandbox that is over and whose deletion is unverified raises an alert

	// Shared are the providers that are bound to no machine and set up here: the reaper looks at
	// them also where the ledger knows of nothing.
	Shared []string

	Phases map[string]Phase // by phase ID

	UIURL     string // base address of Temporal's Web UI, for links; empty: not known
	Namespace string // of Temporal

	// Retention is how long data of ended tasks is kept.
	Retention retention.Policy
	// Secrets are values that must never leave in an error; they are cut out of every text.
	Secrets []string
}

const (
	// spoolBytes is the limit of an agent's spool for unacknowledged events: a day of a busy agent, and a small part of
	// the smallest disk.
	spoolBytes = 256 << 20
	// transcriptInterval is how often an agent uploads what is new in its transcript: what a lost sandbox costs.
	transcriptInterval = time.Minute
	// collectTimeout bounds the collection of the work in a sandbox; the program itself takes less.
	collectTimeout = 4 * time.Minute
	// maxCreateDelay is assumed of providers that this process does not have.
	maxCreateDelay = 5 * time.Minute
)

// Phase says who works in a phase of a ticket; empty fields leave it to the agent.
type Phase struct{ AgentType, Tools, Prompt string }

// Tokens makes the tokens with which sandboxes report in.
type Tokens interface {
	Mint(sandboxID string) string
}

// Deps are the ports that activities work through.
type Deps struct {
	Tasks      Tasks
	Ledger     Ledger
	Texts      Texts
	Fleet      Fleet
	Reconciler Reconciler
	Runs       Runs
	Providers  Providers
	Git        Git
	Tokens     Tokens
	// Credentials finds what sandboxes are given; nil: they get none.
	Credentials Credentials
	// API answers the requests of sandboxes that a pull relay reads, as it answers those that come over its socket.
	API http.RoundTripper
	// Agents opens the omoi-agent program for a GOARCH.
	Agents func(arch string) (io.ReadCloser, error)
	// Guardian analyzes and steers agents; Conductor analyzes those of an organization together.
	Guardian, Conductor Supervisor
	// Retention removes expired data.
	Retention Retention
	// Logs keeps what was printed in a sandbox beyond its end; nil: nobody does.
	Logs Logs
	// Wake tells readers that a task's row has changed; nil if nobody here can be told.
	Wake func(taskID string)
	// CutOff counts activities that Temporal cut off, by name; nil: nobody does.
	CutOff func(activity string)
	Log    *slog.Logger // default: discards
}

// Activities holds one method for each name of package contract.
type Activities struct {
	cfg  Config
	deps Deps
	log  *slog.Logger
}

// New makes the activities of one process.
func New(cfg Config, deps Deps) *Activities {
	cfg.PullTurn = cmp.Or(cfg.PullTurn, contract.PullTurn)
	cfg.MaxBundleBytes = cmp.Or(cfg.MaxBundleBytes, 512<<20)
	cfg.MaxPatchBytes = cmp.Or(cfg.MaxPatchBytes, 16<<20)
	cfg.SalvageWindow = cmp.Or(cfg.SalvageWindow, 5*time.Minute)
	return &Activities{cfg: cfg, deps: deps, log: cmp.Or(deps.Log, slog.New(slog.DiscardHandler))}
}
