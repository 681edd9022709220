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

// Config holds the settings of the activities of one worker process.
type Config struct {
	// HostID identifies the host of this process. Host-bound sandboxes of other hosts cannot be reached from here.
	HostID string
	// APIURL is the base of the API as a sandbox reaches it, without a trailing slash.
	APIURL string
	// Open reports that the API has authentication disabled: the callback URL of a legacy worker then needs no token.
	Open        bool
	IdleTimeout time.Duration // maximum time that an agent may wait for a message
	ToolTimeout time.Duration // maximum time for which one tool call counts as work

	Limits   sandbox.Limits // of each sandbox; zero: the provider's default
	Network  sandbox.Network
	Lifetime time.Duration // time after which the provider deletes a sandbox by itself; zero: never

	AgentHeartbeat time.Duration
	// CheckpointInterval is the time between two checkpoints of an agent's workspace; 0: none are taken.
	CheckpointInterval time.Duration
	StopGrace          time.Duration     // between SIGTERM and SIGKILL
	ModelPrices        string            // model prices of the configuration; see [cost.ParseModelPrices]
	PricesDate         string            // date of ModelPrices; empty: unknown
	Programs           map[string]string // paths of agent programs on this host, by runtime; other runtimes are part of the sandbox's image
	AuthorName         string            // author of the agent's commits
	AuthorEmail        string

	Pull         []string      // providers with the pull transport: a worker reads events from the sandbox
	PullInterval time.Duration // time between two reads of the outbox of an inactive agent
	PullTurn     time.Duration // maximum duration of one RelaySandbox activity; default [contract.PullTurn]

	MaxBundleBytes int64         // maximum size of a bundle that is read from a sandbox; default 512 MiB
	MaxPatchBytes  int64         // maximum size of saved work in text form; default 16 MiB
	SalvageWindow  time.Duration // how long salvage retries while the sandbox is unreachable; default 5 min

	Grace   time.Duration // time after which a sandbox without a running attempt is an orphan, and an open task without an open workflow is failed
	Overdue time.Duration // time after which an ended sandbox without verified deletion raises an alert

	// Shared lists the configured providers that are not bound to a host. The reaper also visits those without a row in
	// the ledger.
	Shared []string

	Phases map[string]Phase // by phase ID

	UIURL     string // base URL of the Temporal Web UI, for links; empty: unknown
	Namespace string // Temporal namespace

	// Retention says how long data of ended tasks is kept.
	Retention retention.Policy
	// Secrets are values that are removed from every text that leaves the process.
	Secrets []string
}

const (
	// spoolBytes limits an agent's spool of unacknowledged events. It holds the events of a busy agent for a day, and
	// is a small part of the smallest disk.
	spoolBytes = 256 << 20
	// transcriptInterval is how often an agent uploads its transcript. A lost sandbox costs at most this much of it.
	transcriptInterval = time.Minute
	// collectTimeout bounds the collection of work in a sandbox. omoi-agent's own limit is shorter.
	collectTimeout = 4 * time.Minute
	// maxCreateDelay is the assumed [sandbox.Capabilities] value of a provider that is not configured in this process.
	maxCreateDelay = 5 * time.Minute
)

// Phase holds the agent settings of a ticket phase. Empty fields keep the agent's defaults.
type Phase struct{ AgentType, Tools, Prompt string }

// Tokens creates sandbox tokens.
type Tokens interface {
	Mint(sandboxID string) string
}

// Deps holds the ports that activities use.
type Deps struct {
	Tasks      Tasks
	Tests      TestRepeats
	Ledger     Ledger
	Texts      Texts
	Fleet      Fleet
	Reconciler Reconciler
	Runs       Runs
	Providers  Providers
	Git        Git
	Tokens     Tokens
	// Credentials finds the credentials of a sandbox; nil: sandboxes get none.
	Credentials Credentials
	// API handles the requests that a pull relay reads from sandboxes, like requests over the network.
	API http.RoundTripper
	// Agents opens the omoi-agent program for a GOARCH.
	Agents func(arch string) (io.ReadCloser, error)
	// Guardian analyzes and steers agents; Conductor analyzes those of an organization together.
	Guardian, Conductor Supervisor
	Retention           Retention
	// Logs stores sandbox logs beyond the end of the sandbox; nil: logs are not stored.
	Logs Logs
	// Wake notifies readers of a changed task row; nil: no notification.
	Wake func(taskID string)
	// CutOff counts activities that Temporal cancelled, by name; nil: not counted.
	CutOff func(activity string)
	Log    *slog.Logger // default: discards
}

// Activities has one method for each activity name of package contract.
type Activities struct {
	cfg  Config
	deps Deps
	log  *slog.Logger
}

// New returns the activities of one worker process.
func New(cfg Config, deps Deps) *Activities {
	cfg.PullTurn = cmp.Or(cfg.PullTurn, contract.PullTurn)
	cfg.MaxBundleBytes = cmp.Or(cfg.MaxBundleBytes, 512<<20)
	cfg.MaxPatchBytes = cmp.Or(cfg.MaxPatchBytes, 16<<20)
	cfg.SalvageWindow = cmp.Or(cfg.SalvageWindow, 5*time.Minute)
	return &Activities{cfg: cfg, deps: deps, log: cmp.Or(deps.Log, slog.New(slog.DiscardHandler))}
}
