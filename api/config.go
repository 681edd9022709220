package api

import (
	"cmp"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	mib = 1 << 20
	// maxBody is the maximum length of a request body in bytes. It leaves ample room for a task's description and data.
	// The transcript of an event is not counted.
	maxBody int64 = mib
	// maxDiff is the maximum length of a returned diff in bytes: more than a browser can show.
	maxDiff = 16 * mib
	// probeTimeout bounds the check of one dependency, and of an organization's credentials. Load balancers request
	// /readyz every few seconds.
	probeTimeout = 2 * time.Second
)

// WebhookDebounce is how long the API waits for more comments of one review, or results of one run of checks, before it
// informs the agent. GitHub sends the comments of a review within seconds.
const WebhookDebounce = 15 * time.Second

// Config configures an API. Zero values mean the defaults.
type Config struct {
	// Open disables authentication: every caller acts as Organization. Use it on loopback addresses only. Requests that
	// a web page of another origin could send are rejected.
	Open bool
	// Organization is the ID of the organization of callers without authentication, and of a JWT that names none.
	Organization string
	// User is the ID of the user of all callers without authentication; empty: no user has credentials of their own.
	User string
	// AllowedHosts are the host names, without port, that a server without authentication accepts in addition to
	// loopback, for example the host of CALLBACK_URL.
	AllowedHosts []string

	Version       string // of the binary
	Protocol      int    // newest version of the agent protocol
	TemporalUIURL string // base URL of the Web UI, for links; empty: unknown
	Namespace     string // of Temporal

	// Provider is the default provider of tasks; empty: local.
	Provider string
	// Agent is the operator's default agent of tasks; empty: the first of [Runtimes] that works.
	Agent string
	// Shared lists the configured providers that do not need a host.
	Shared []string
	// ProjectSlots is the concurrency limit of a project that is created for a repository; default 5.
	ProjectSlots int
	// ValidationRounds is the default maximum of validation rounds of a task; default 3. Tasks of ValidatedTypes are
	// validated unless they say otherwise.
	ValidationRounds int
	ValidatedTypes   []string

	CommandWait time.Duration // how long a command's request waits for its outcome; default 2 s
	CommandPoll time.Duration // poll interval during this wait, in case a notification is lost; default 100 ms
	MaxWait     time.Duration // longest long poll; default 25 s
	Patience    time.Duration // additional time for a response; default 10 s
	PollEvery   time.Duration // poll interval of a long poll, in case a notification is lost; default 2 s
	LoginWait   time.Duration // maximum wait for the first frame of a WebSocket, if it carries the token; default 10 s
	SocketPing  time.Duration // a WebSocket is pinged after its reader was silent for this time; default 30 s
	StreamBeat  time.Duration // interval of the keep-alives and polls of an idle stream; default 15 s
	Lease       time.Duration // of a leased message; default 60 s
	MaxBatch    int64         // maximum length of a batch of events in bytes; default 4 MiB

	// WebhookSecrets are the secrets with which GitHub may sign webhooks; none: webhooks are rejected.
	WebhookSecrets []string
	// WebhookSettle is how long to wait for more events of the same kind before an agent is informed.
	WebhookSettle time.Duration

	Retention  retention.Policy     // how long data of ended tasks is kept
	Monitoring client.MonitorConfig // as /api/v1/monitor/intelligent/status shows it
	// Ages of an agent's newest sign of life and newest work from which on the agent is silent or stuck.
	Silent, NoWork time.Duration
	Idle           time.Duration // age of the wait for a message at which an attempt ends; 0: explanations do not name it

	MaxTranscript int64 // maximum of one run's stored transcript in bytes, the newest lines; default 8 MiB
}

func (c Config) withDefaults() Config {
	c.Provider = cmp.Or(c.Provider, task.ProviderLocal)
	c.Silent, c.NoWork = cmp.Or(c.Silent, 2*time.Minute), cmp.Or(c.NoWork, 15*time.Minute)
	c.ProjectSlots = cmp.Or(c.ProjectSlots, 5) //nolint:mnd // the documented default
	c.ValidationRounds = cmp.Or(c.ValidationRounds, task.DefaultRounds)
	c.CommandWait = cmp.Or(c.CommandWait, 2*time.Second)
	c.CommandPoll = cmp.Or(c.CommandPoll, 100*time.Millisecond)
	c.MaxWait = cmp.Or(c.MaxWait, 25*time.Second)
	c.Patience = cmp.Or(c.Patience, 10*time.Second)
	c.PollEvery = cmp.Or(c.PollEvery, 2*time.Second)
	c.LoginWait = cmp.Or(c.LoginWait, 10*time.Second)
	c.SocketPing = cmp.Or(c.SocketPing, 30*time.Second)
	c.StreamBeat = cmp.Or(c.StreamBeat, 15*time.Second)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.MaxBatch = cmp.Or(c.MaxBatch, 4*mib)
	c.MaxTranscript = cmp.Or(c.MaxTranscript, 8*mib)
	return c
}
