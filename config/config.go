package config

import "time"

// Config holds every setting of omoi. Tags of a group: key, its name; note, a sentence about it; hidden, no documentation.
// Tags of a setting: key, its name below the group; env, legacy variables, with (m) or (s) where they hold a number of
// minutes or seconds; also, a legacy YAML key; default; min, max and oneof, the bounds; unit; zero, the meaning of zero
// or empty; doc, its description, in which %s is the name of a provider.
type Config struct {
	Env  string `key:"env" env:"OMOIOS_ENV" default:"local" doc:"Environment: the name of the YAML file that is read over base.yaml. The file of production is built in; every other name but local needs a file."`
	Home string `key:"home" zero:"~/.omoi" doc:"Data directory of this installation: keys, dev.json, development databases, sandboxes."`
	Dir  string `key:"config_dir" zero:"config below home" doc:"Directory of base.yaml and <env>.yaml."`

	API          API          `key:"api"`
	Token        Token        `key:"token" note:"Keys that sign sandbox tokens. All processes of an installation must have the same."`
	Credential   Credential   `key:"credential" note:"docs/CREDENTIALS.md describes which credentials a task gets. All processes of an installation must have the same keys."`
	Database     Database     `key:"database"`
	Redis        Redis        `key:"redis"`
	Temporal     Temporal     `key:"temporal"`
	Dev          Dev          `key:"dev" note:"For omoi dev, which starts its own PostgreSQL and Temporal."`
	Task         Task         `key:"task" note:"Defaults and limits. A task keeps the values with which it was started."`
	Phases       Phases       `key:"phases" note:"Agents for each phase of a ticket. The same settings exist for requirements, design, implementation, testing, deployment, done and blocked. The env of a task's execution_config takes precedence."`
	Validation   Validation   `key:"validation" note:"Validation by another agent before the work is published. A task enables it (validate), or its project (settings.validate), or its type."`
	Checkpoint   Checkpoint   `key:"checkpoint" note:"For checkpoints, from which the next attempt continues; see docs/CONCEPTS.md. All API processes and workers of an installation must have the same."`
	Relay        Relay        `key:"relay"`
	Reaper       Reaper       `key:"reaper"`
	Worker       Worker       `key:"worker"`
	Sandbox      Sandbox      `key:"sandbox"`
	Transport    Transport    `key:"transport" note:"How agents report events: push (they call the API) or pull (a worker reads their spool inside the sandbox). All workers of an installation must have the same."`
	Price        Price        `key:"price" note:"Sandbox prices for receipts, for example 0.05 USD/hour or 0.000014 USD/second. A sandbox keeps the price at which it was created."`
	Agent        Agent        `key:"agent"`
	Log          Log          `key:"log"`
	Metrics      Metrics      `key:"metrics" note:"docs/METRICS.md lists the metrics. The API also serves them at /metrics: without authentication if api.auth_disabled is set, else for keys with the scope admin."`
	Trace        Trace        `key:"trace"`
	Docker       Docker       `key:"docker" note:"For Docker sandboxes; docs/DOCKER.md describes how agents in them reach the API. Their size is in the group sandbox."`
	Daytona      Daytona      `key:"daytona" note:"For Daytona sandboxes. Their size, snapshot and image are in the group sandbox; Daytona takes whole CPUs and GiB, so fractions are rounded up. Agents in them reach the API at api.callback_url."`
	OpenHands    OpenHands    `key:"openhands" note:"For sandboxes on the machine of an OpenHands agent server; see docs/OPENHANDS.md. WORKSPACE_MODE sets task.provider: local, docker, daytona, or remote for openhands."`
	Anthropic    Anthropic    `key:"anthropic" note:"For tasks without a credential of their user, project or organization; see docs/CREDENTIALS.md. The model of the group monitoring uses them too."`
	Claude       Claude       `key:"claude" note:"For tasks without a credential of their user, project or organization; see docs/CREDENTIALS.md."`
	GitHub       GitHub       `key:"github" note:"For repositories on GitHub; see docs/GITHUB.md."`
	Monitoring   Monitoring   `key:"monitoring" note:"For guardian and conductor; see docs/SUPERVISION.md. A changed interval takes effect when a worker starts."`
	Diagnostic   Diagnostic   `key:"diagnostic" note:"docs/TROUBLESHOOTING.md describes what is diagnosed, and docs/WEBHOOKS.md how a receiver verifies a webhook. All processes of an installation must have the same."`
	Notice       Notice       `key:"notice" note:"For notices of tasks; see docs/NOTICES.md. All API processes of an installation must have the same."`
	Retention    Retention    `key:"retention" note:"Age counts from the end of a task: its status is final, and all its sandboxes are verified deleted. docs/RETENTION.md describes what stays. All workers of an installation must have the same."`
	Orchestrator Orchestrator `key:"orchestrator"`
	Test         Test         `key:"test" hidden:"true"`
}

// API configures the HTTP API, and how the CLI finds it.
type API struct {
	Host              string `key:"host" default:"127.0.0.1" doc:"Address that the API listens on."`
	Port              int    `key:"port" default:"18000" min:"0" max:"65535" zero:"a free port" doc:"Port that the API listens on. If the default is taken, omoi dev uses a free one."`
	URL               string `key:"url" zero:"the URL in dev.json" doc:"Base URL of the API for the CLI."`
	Socket            string `key:"socket" zero:"none; one below home, or /var/lib/omoi as root, where sandboxes need it" doc:"Unix socket that the API also listens on. Needed by sandboxes without network, and by Docker sandboxes on a bridge while the API listens on loopback."`
	CallbackURL       string `key:"callback_url" env:"CALLBACK_URL" zero:"the API's own address" doc:"Base URL of the API for agents in sandboxes. A path is kept, except /sandbox/events, which OmoiOS appended."`
	Key               Secret `key:"key" zero:"none" doc:"API key that the CLI sends. The API creates it as the first key of a new installation."`
	JWTSecret         Secret `key:"jwt_secret" env:"AUTH_JWT_SECRET_KEY" zero:"JWTs are rejected" doc:"Secret of 32 or more bytes that signs JWTs (HS256), which are accepted instead of API keys. All API processes must have the same."`
	JWTPreviousSecret Secret `key:"jwt_previous_secret" zero:"none" doc:"Previous JWT secret, still accepted during a rotation."`
	AuthDisabled      bool   `key:"auth_disabled" default:"false" doc:"Serve without authentication. Allowed on loopback addresses only; omoi dev enables it."`
}

// Token holds the keys that sign sandbox tokens.
type Token struct {
	Key         Secret `key:"key" zero:"created once and kept below home" doc:"Signing key, as id.secret: an ID without a full stop, and 32 or more bytes in base64."`
	PreviousKey Secret `key:"previous_key" zero:"none" doc:"Previous signing key, still accepted during a rotation."`
}

// Credential holds the keys that encrypt the credentials of users, and what users may store.
type Credential struct {
	Keys                      Secret `key:"keys" zero:"created once and kept below home" doc:"Keys that encrypt credentials at rest, as id:base64 with 32 random bytes each, separated by commas. The first encrypts, all decrypt. After adding a first key, run omoi credentials rotate."`
	TestAllowPrivate          bool   `key:"test_allow_private" default:"false" doc:"Allow omoi credentials test to call private addresses. By default it calls public ones, and those of anthropic.base_url and github.url."`
	AllowSeveralSubscriptions bool   `key:"allow_several_subscriptions" default:"false" doc:"Allow several subscriptions (claude_oauth, github_copilot) of one owner, of which the next takes over when one is rate limited. Read the terms of the provider first: they may forbid this."`
}

// Database locates PostgreSQL.
type Database struct {
	URL      Secret `key:"url" env:"DATABASE_URL" zero:"omoi dev starts its own" doc:"URL of PostgreSQL: postgres://user:password@host:port/name. A +driver after the scheme is dropped."`
	MaxConns int    `key:"max_conns" default:"16" min:"2" max:"500" doc:"Maximum number of connections of one process. A process that ingests events opens up to 5 more for them."`
}

// Redis locates Redis.
type Redis struct {
	URL Secret `key:"url" env:"REDIS_URL" zero:"notifications stay in the process" doc:"URL of Redis: redis://host:port/0. It carries notifications between processes; losing it costs latency only."`
}

// Temporal locates the Temporal cluster.
type Temporal struct {
	Address   string `key:"address" env:"TEMPORAL_ADDRESS" default:"127.0.0.1:7233" doc:"Frontend of the Temporal cluster. If it is not set, omoi dev starts its own."`
	Namespace string `key:"namespace" env:"TEMPORAL_NAMESPACE" default:"default" doc:"Temporal namespace of this installation. Each installation needs its own."`
	APIKey    Secret `key:"api_key" env:"TEMPORAL_API_KEY" zero:"none" doc:"API key of Temporal Cloud."`
	TLS       bool   `key:"tls" env:"TEMPORAL_TLS" default:"false" doc:"Use TLS for Temporal. An API key or a certificate implies it."`
	TLSCert   string `key:"tls_cert" zero:"none" doc:"File of the client certificate."`
	TLSKey    string `key:"tls_key" zero:"none" doc:"File of the client certificate's key."`
	TLSCA     string `key:"tls_ca" zero:"the system's" doc:"File of the CA certificates that verify Temporal's certificate."`
	UIURL     string `key:"ui_url" zero:"the development server's" doc:"Base URL of the Temporal Web UI, for links."`
}

// Dev configures the PostgreSQL and Temporal that omoi dev starts.
type Dev struct {
	TemporalPort     int    `key:"temporal_port" default:"7233" min:"0" max:"65535" zero:"a free port" doc:"Port of the Temporal development server. If the default is taken, a free one is used."`
	TemporalUIPort   int    `key:"temporal_ui_port" default:"8233" min:"0" max:"65535" zero:"a free port" doc:"Port of the Temporal Web UI. If the default is taken, a free one is used."`
	TemporalBin      string `key:"temporal_bin" zero:"PATH, beside omoi, bin/" doc:"Path of the temporal program."`
	PostgresBin      string `key:"postgres_bin" zero:"PATH, /usr/lib/postgresql, download" doc:"Directory of initdb and postgres, or download to ignore the installed ones."`
	PostgresDataRoot string `key:"postgres_data_root" default:"/var/lib/omoi" doc:"Directory of PostgreSQL's data if omoi runs as root: other users cannot enter root's home."`
	PostgresURL      string `key:"postgres_url" zero:"Maven Central" doc:"Base URL of the Maven repository from which PostgreSQL is downloaded."`
}

// Log configures the log.
type Log struct {
	Level  string `key:"level" default:"info" oneof:"debug info warn error" doc:"Minimum log level."`
	Format string `key:"format" default:"text" oneof:"text json" doc:"Log format."`
}

// Metrics configures the metrics endpoint.
type Metrics struct {
	Address string `key:"address" zero:"none" doc:"Address, as host:port, on which this process serves /metrics without authentication. Use a loopback or private address. The log names the port that replaces 0."`
}

// Trace configures the export of traces.
type Trace struct {
	Endpoint    string  `key:"endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" zero:"tracing is disabled" doc:"Base URL of an OpenTelemetry collector for OTLP over HTTP, for example http://127.0.0.1:4318."`
	Headers     Secret  `key:"headers" env:"OTEL_EXPORTER_OTLP_HEADERS" zero:"none" doc:"Headers for the collector, as name=value,name=value."`
	SampleRatio float64 `key:"sample_ratio" default:"1" min:"0" max:"1" zero:"only traces that a caller started" doc:"Fraction of new traces that are recorded."`
}

// Orchestrator holds the pause switch.
type Orchestrator struct {
	Enabled bool `key:"enabled" env:"ORCHESTRATOR_ENABLED" default:"true" doc:"Admit tasks. If false, omoi accepts and queues tasks, and running ones continue."`
}

// Test replaces constants of components, for tests and benchmarks that run the real program. The documentation leaves it out,
// and omoi config show prints only values that are set. Zero keeps the constant.
type Test struct {
	RelayPoll          time.Duration `key:"relay_poll_interval"`          // [ingest.PollInterval]
	RelayLease         time.Duration `key:"relay_lease_duration"`         // [ingest.Pace]
	ComponentHeartbeat time.Duration `key:"component_heartbeat_interval"` // [ingest.HeartbeatInterval]
	HostHeartbeat      time.Duration `key:"host_heartbeat_interval"`      // [worker.HostHeartbeat]
	AgentHeartbeat     time.Duration `key:"agent_heartbeat_interval"`     // of [activities.Config]
	MessageLease       time.Duration `key:"message_lease_duration"`       // of [api.Config]
	UnknownRetry       time.Duration `key:"unknown_initial_interval"`     // of [contract.Settings]
	MaxSignals         int           `key:"max_signals_per_run"`          // of [contract.Settings]
	RateLimitStagger   time.Duration `key:"rate_limit_stagger"`           // of [postgres.Config]
	WebhookDebounce    time.Duration `key:"webhook_debounce"`             // of [api.Config]
	MetricsTTL         time.Duration `key:"metrics_cache_ttl"`            // [metrics.CacheTTL]
	RetentionAhead     time.Duration `key:"retention_clock_ahead"`        // time that retention adds to the database's clock
	ShimBinary         string        `key:"shim_binary"`                  // the omoi program between a worker and its local sandboxes
}
