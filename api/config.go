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
	// maxBody is the longest request body, in bytes: what a description of a task with its data takes, many times over. An
	// event's transcript comes on top of it.
	maxBody int64 = mib
	// maxDiff is the longest diff that is served, in bytes: more than a browser shows.
	maxDiff = 16 * mib
	// probeTimeout bounds the check of one dependency, and of an organization's credentials: load balancers ask /readyz
	// every few seconds.
	probeTimeout = 2 * time.Second
)

// WebhookDebounce is how long the API waits for more of one review, or of one run of checks, before it informs the
// agent: GitHub sends the comments of a review within seconds.
const WebhookDebounce = 15 * time.Second

// Config is what the API is told. Zero values mean the defaults.
type Config struct {
	// Open serves without login, as Organization. It is meant for loopback addresses only;
	// requests that a web page of another origin could send are refused.
	Open bool
	// Organization is the id that an open server acts as, and a JWT that names none.
	Organization string
	// User is the id of the user for whom an open server takes everybody; empty: nobody has credentials of his own.
	User string
	// AllowedHosts are names besides loopback under which an open server may be addressed,
	// without port: the host of CALLBACK_URL, for instance.
	AllowedHosts []string

	Version       string // of the binary
	Protocol      int    // newest version that agents may speak
	TemporalUIURL string // base URL of the Web UI, for links; empty: not known
	Namespace     string // of Temporal

	// Provider is the default for tasks that name none; empty: local.
	Provider string
	// Agent is the operator's default for tasks that name none; empty: the first of [Runtimes] that works.
	Agent string
	// Shared are the providers that are configured and need no host of theirs here.
	Shared []string
	// ProjectSlots is the limit of tasks at a time in a project that is made for a repository; default 5.
	ProjectSlots int
	// ValidationRounds is how often work is validated at most where a task says nothing else; default 3.
	// Tasks of ValidatedTypes are validated where they do not say that they are not.
	ValidationRounds int
	ValidatedTypes   []string

	CommandWait time.Duration // how long a command's request waits for its outcome; default 2 s
	CommandPoll time.Duration // how often it looks, should a wake-up be lost; default 100 ms
	MaxWait     time.Duration // longest long poll; default 25 s
	Patience    time.Duration // how much longer an answer may take; default 10 s
	PollEvery   time.Duration // how often a long poll looks, should a wake-up be lost; default 2 s
	LoginWait   time.Duration // how long the first frame of a WebSocket may take, where it carries the token; default 10 s
	SocketPing  time.Duration // silence of a WebSocket's reader after which it is pinged; default 30 s
	StreamBeat  time.Duration // how often an idle stream says so, and looks should a wake-up be lost; default 15 s
	Lease       time.Duration // of a message that was given out; default 60 s
	MaxBatch    int64         // longest body of a batch of events, in bytes; default 4 MiB

	// WebhookSecrets are those with which GitHub may sign webhooks; none: no webhooks are taken.
	WebhookSecrets []string
	// WebhookSettle is how long more of the same is waited for before an agent is told.
	WebhookSettle time.Duration

	Retention  retention.Policy     // how long data of ended tasks is kept
	Monitoring client.MonitorConfig // as /api/v1/monitor/intelligent/status shows it
	// From which age of its newest sign of life, and of its newest work, on an agent is silent, and stuck.
	Silent, NoWork time.Duration

	MaxTranscript int64 // what is kept of one run's transcript, in bytes: the newest lines; default 8 MiB
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
