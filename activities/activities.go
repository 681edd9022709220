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

// Config is what activities are told once. Zero values mean the defaults named here.
type Config struct {
	// HostID is the machine that this process runs on; sandboxes of other machines are unknown here.
	HostID string
	// APIURL is the base of the API as a sandbox reaches it, without a trailing slash.
	APIURL string
	// Open says that the API asks for no login: old workers need no token in their callback then.
	Open        bool
	IdleTimeout time.Duration // for which an agent may wait for messages; default 10 min
	ToolTimeout time.Duration // for which one tool call counts as work; default 30 min

	Limits   sandbox.Limits  // of every sandbox; zero: the provider's default
	Network  sandbox.Network // default [sandbox.NetworkHost]
	Lifetime time.Duration   // after which a provider deletes by itself; zero: never

	AgentHeartbeat time.Duration // default 30 s
	StopGrace      time.Duration // between SIGTERM and SIGKILL; default 10 s
	ModelPrices    string        // of the configuration; see [cost.ParseModelPrices]
	PricesDate     string        // of those; empty: not said
	ClaudeBin      string        // Claude Code on this machine; empty: sandboxes bring their own
	AuthorName     string        // of the agent's commits; default omoi
	AuthorEmail    string        // default omoi@localhost

	Pull         []string      // providers whose agents reach nothing: a worker carries for them
	TailInterval time.Duration // between two looks at a quiet agent's outbox; default 1 s
	TailTurn     time.Duration // of carrying, before the workflow is told; default [contract.TailTurn]

	CacheBytes     int64         // of a project's dependency cache; 0: none is kept
	MaxBundleBytes int64         // of the work that is read out of a sandbox; default 512 MiB
	MaxPatchBytes  int64         // of work that is kept as a text; default 16 MiB
	SalvageWindow  time.Duration // how long unreachable work is waited for; default 5 min

	OrphanGrace time.Duration // before a sandbox without a live attempt is an orphan; default 2 min
	Overdue     time.Duration // before a sandbox that is over and not verified gone raises an alarm; default 30 min
	RepairGrace time.Duration // before a task without an open workflow is written off; default 1 min

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

// Deps are the ports that activities work through; all but Log and Agents are needed.
type Deps struct {
	Tasks     Tasks
	Ledger    Ledger
	Fleet     Fleet
	Runs      Runs
	Providers Providers
	Git       Git
	Tokens    Tokens
	// Credentials finds what sandboxes are given; nil: they get none.
	Credentials Credentials
	// API answers what sandboxes ask that reach nothing, as it answers those that report by
	// themselves over its socket; nil if no provider is in [Config.Pull].
	API http.RoundTripper
	// Agents opens the omoi-agent program for a GOARCH; nil if no provider here runs one.
	Agents func(arch string) (io.ReadCloser, error)
	// Caches keeps what setup steps download; nil: nobody does.
	Caches Caches
	// Guardian judges and steers agents; nil: this process does not.
	Guardian Guardian
	// Conductor looks at agents together; nil: this process does not.
	Conductor Conductor
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
	cfg.Network = cmp.Or(cfg.Network, sandbox.NetworkHost)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, 10*time.Minute)
	cfg.ToolTimeout = cmp.Or(cfg.ToolTimeout, 30*time.Minute)
	cfg.AgentHeartbeat = cmp.Or(cfg.AgentHeartbeat, 30*time.Second)
	cfg.StopGrace = cmp.Or(cfg.StopGrace, 10*time.Second)
	cfg.AuthorName = cmp.Or(cfg.AuthorName, "omoi")
	cfg.AuthorEmail = cmp.Or(cfg.AuthorEmail, "omoi@localhost")
	cfg.TailInterval = cmp.Or(cfg.TailInterval, time.Second)
	cfg.TailTurn = cmp.Or(cfg.TailTurn, contract.TailTurn)
	cfg.MaxBundleBytes = cmp.Or(cfg.MaxBundleBytes, 512<<20)
	cfg.MaxPatchBytes = cmp.Or(cfg.MaxPatchBytes, 16<<20)
	cfg.SalvageWindow = cmp.Or(cfg.SalvageWindow, 5*time.Minute)
	cfg.OrphanGrace = cmp.Or(cfg.OrphanGrace, 2*time.Minute)
	cfg.Overdue = cmp.Or(cfg.Overdue, 30*time.Minute)
	cfg.RepairGrace = cmp.Or(cfg.RepairGrace, time.Minute)
	return &Activities{cfg: cfg, deps: deps, log: cmp.Or(deps.Log, slog.New(slog.DiscardHandler))}
}
