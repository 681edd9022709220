package config

// Config is everything that omoi can be told. The tags mean: key, the name below the
// group; env, older variables, with (m) or (s) where they hold a bare number of minutes
// or seconds; also, an older YAML key; default; min, max and oneof, the bounds; unit;
// zero, what zero or empty means; doc, one sentence; note, a sentence about a group.
type Config struct {
	Env  string `key:"env" env:"OMOIOS_ENV" default:"local" doc:"Name of the YAML file that is read over base.yaml. The settings of production are built in; any other name but local needs its file."`
	Home string `key:"home" zero:"~/.omoi" doc:"Directory of this installation's own state: keys, dev.json, the development databases, sandboxes."`
	Dir  string `key:"config_dir" zero:"config below home" doc:"Directory of base.yaml and <env>.yaml."`

	API        API        `key:"api"`
	Token      Token      `key:"token"`
	Credential Credential `key:"credential" note:"docs/CREDENTIALS.md says whose credentials a task gets. All processes of an installation must have the same keys."`
	Database   Database   `key:"database"`
	Redis      Redis      `key:"redis"`
	Temporal   Temporal   `key:"temporal"`
	Dev        Dev        `key:"dev"`
	Task       Task       `key:"task"`
	Phases     Phases     `key:"phases" note:"Agents for each phase of a ticket. The same settings exist for requirements, design, implementation, testing, deployment, done and blocked. The env of a task's execution_config takes precedence."`
	Validation Validation `key:"validation" note:"Whether another agent looks at the work before it is published. A task says so itself (validate), or its project (settings.validate), or its type."`
	Relay      Relay      `key:"relay"`
	Reaper     Reaper     `key:"reaper"`
	Worker     Worker     `key:"worker"`
	Sandbox    Sandbox    `key:"sandbox"`
	Transport  Transport  `key:"transport" note:"How agents report: push (they ask the API) or pull (they reach nothing, and a worker looks into their sandboxes). All workers of an installation must have the same."`
	Price      Price      `key:"price" note:"What sandboxes cost, for receipts, as 0.05 USD/hour or 0.000014 USD/second. A sandbox keeps the price of the time when it was made."`
	Agent      Agent      `key:"agent"`
	Log        Log        `key:"log"`
	Metrics    Metrics    `key:"metrics" note:"What is counted is listed in docs/METRICS.md. The API shows it as /metrics as well, without login if it is open, else for keys with the scope admin."`
	Trace      Trace      `key:"trace"`
	Docker     Docker     `key:"docker" note:"For Docker sandboxes; docs/DOCKER.md says how agents in them reach the API. Their size is in the group sandbox."`
	Daytona    Daytona    `key:"daytona" note:"For sandboxes at Daytona. Their size, snapshot and image are in the group sandbox; Daytona takes whole CPUs and GiB, so fractions are rounded up. Agents in them reach the API at api.callback_url."`
	Anthropic  Anthropic  `key:"anthropic" note:"For agents of tasks whose owner, project and organization have no credential of their own; see docs/CREDENTIALS.md. The guardian's model uses them too; see the group monitoring."`
	Claude     Claude     `key:"claude" note:"For agents of tasks whose owner, project and organization have no credential of their own; see docs/CREDENTIALS.md."`
	GitHub     GitHub     `key:"github" note:"For repositories on GitHub; see docs/GITHUB.md."`
	Monitoring Monitoring `key:"monitoring" note:"For guardian and conductor; docs/SUPERVISION.md says what they do. A change of a period is taken over when a worker starts."`
	Diagnostic Diagnostic `key:"diagnostic" note:"docs/DIAGNOSIS.md says what is diagnosed, and how a webhook is checked. All API processes of an installation must have the same."`
	Retention  Retention  `key:"retention" note:"Age counts from the end of a task: it is final, and all its sandboxes are verified deleted. docs/RETENTION.md says what stays. All workers of an installation must have the same."`
	Orchestra  Orchestra  `key:"orchestrator"`
	Test       Test       `key:"test" hidden:"true"`
}

// API says how the HTTP API listens, and how the command line finds it.
type API struct {
	Host        string `key:"host" default:"127.0.0.1" doc:"Address that the API listens on."`
	Port        int    `key:"port" default:"18000" min:"0" max:"65535" zero:"a free port" doc:"Port that the API listens on; omoi dev moves to a free one if the default is taken."`
	URL         string `key:"url" zero:"the one in dev.json" doc:"Base URL at which the command line finds the API."`
	Socket      string `key:"socket" zero:"none; one below home, /var/lib/omoi as root, where sandboxes need it" doc:"Unix socket that the API listens on too. Sandboxes without network need it, and Docker sandboxes on a bridge while the API is on a loopback address. Local sandboxes of omoi dev use it too."`
	CallbackURL string `key:"callback_url" env:"CALLBACK_URL" zero:"the API's own address" doc:"Base URL at which agents in sandboxes find the API. A path is kept, but for /sandbox/events, which OmoiOS put behind the base URL."`
	Key         Secret `key:"key" zero:"none" doc:"API key that the command line sends; the API makes it the first key of a new installation."`
	JWTSecret   Secret `key:"jwt_secret" env:"AUTH_JWT_SECRET_KEY" zero:"none is taken" doc:"Secret of 32 or more bytes with which JWTs are signed (HS256) that people and machines may log in with instead of API keys. All API processes must have the same."`
	JWTPrevious Secret `key:"jwt_previous" zero:"none" doc:"Secret that signed JWTs before and is still accepted, while it is being changed."`
	Open        bool   `key:"open" default:"false" doc:"Serve without login. Allowed on loopback addresses only; omoi dev switches it on."`
}

// Token holds the keys that sign the tokens of sandboxes. All processes of an installation
// must have the same.
type Token struct {
	Key      Secret `key:"key" zero:"made once and kept under home" doc:"Key that signs, as id.secret: an id without a full stop, and 32 or more bytes in base64."`
	Previous Secret `key:"previous" zero:"none" doc:"Key that signed before and is still accepted, in the same form."`
}

// Credential holds the keys under which credentials of users are encrypted.
type Credential struct {
	Keys Secret `key:"keys" zero:"made once and kept under home" doc:"Keys that encrypt credentials at rest, as id:base64 with 32 random bytes each and commas between. The first encrypts, all decrypt; after a new first one run omoi credentials rotate."`

	TestPrivate bool `key:"test_private" default:"false" doc:"Let omoi credentials test ask addresses that are not public. Without it a test asks public ones, and those of anthropic.base_url and github.url."`
}

// Database says where PostgreSQL is.
type Database struct {
	URL      Secret `key:"url" env:"DATABASE_URL" zero:"omoi dev starts its own" doc:"PostgreSQL, as postgres://user:password@host:port/name. A +driver after the scheme is dropped."`
	MaxConns int    `key:"max_conns" default:"16" min:"2" max:"500" doc:"Connections that one process opens at most. One that takes events in opens up to 5 more for them."`
}

// Redis says where Redis is.
type Redis struct {
	URL Secret `key:"url" env:"REDIS_URL" zero:"wake-ups stay inside the process" doc:"Redis, as redis://host:port/0. It carries wake-ups between processes; losing it costs latency only."`
}

// Temporal says where the Temporal cluster is.
type Temporal struct {
	Address   string `key:"address" env:"TEMPORAL_ADDRESS" default:"127.0.0.1:7233" doc:"Frontend of the Temporal cluster. omoi dev starts its own unless this is set."`
	Namespace string `key:"namespace" env:"TEMPORAL_NAMESPACE" default:"default" doc:"Namespace of this installation; no two installations share one."`
	APIKey    Secret `key:"api_key" env:"TEMPORAL_API_KEY" zero:"none" doc:"API key of Temporal Cloud."`
	TLS       bool   `key:"tls" env:"TEMPORAL_TLS" default:"false" doc:"Speak TLS to Temporal; an API key or a certificate implies it."`
	TLSCert   string `key:"tls_cert" zero:"none" doc:"File of the client certificate."`
	TLSKey    string `key:"tls_key" zero:"none" doc:"File of the client certificate's key."`
	TLSCA     string `key:"tls_ca" zero:"the system's" doc:"File of the certificates that Temporal's is checked against."`
	UIURL     string `key:"ui_url" zero:"the development server's" doc:"Base URL of the Temporal Web UI, for links."`
}

// Dev is about what omoi dev starts itself.
type Dev struct {
	TemporalPort     int    `key:"temporal_port" default:"7233" min:"0" max:"65535" zero:"a free port" doc:"Port of the development server; a free one is taken if the default is in use."`
	TemporalUIPort   int    `key:"temporal_ui_port" default:"8233" min:"0" max:"65535" zero:"a free port" doc:"Port of the Temporal Web UI; a free one is taken if the default is in use."`
	TemporalBin      string `key:"temporal_bin" zero:"PATH, beside omoi, bin/" doc:"The temporal program."`
	PostgresBin      string `key:"postgres_bin" zero:"PATH, /usr/lib/postgresql, download" doc:"Directory of initdb and postgres; download means never those of the machine."`
	PostgresDataRoot string `key:"postgres_data_root" default:"/var/lib/omoi" doc:"Where PostgreSQL's data is when omoi runs as root, since other users cannot enter root's home."`
	PostgresURL      string `key:"postgres_url" zero:"the Maven repository of embedded-postgres" doc:"Base URL from which PostgreSQL is downloaded."`
}

// Worker is about one worker process.
type Worker struct {
	StickyCache  int    `key:"sticky_cache" default:"1000" min:"0" max:"100000" zero:"replay at every step" doc:"Workflows kept in memory."`
	HostID       string `key:"host_id" zero:"made once and kept under home" doc:"Name of this machine in the queue of its sandboxes."`
	HostSlots    int    `key:"host_slots" default:"8" min:"1" max:"1000" doc:"Sandboxes that this machine holds at most."`
	WholeHistory int64  `key:"whole_history_bytes" default:"268435456" min:"0" max:"17592186044416" unit:"bytes" zero:"all history, whatever it weighs" doc:"What a repository may weigh of which all history goes into sandboxes. Of a larger one go the newest commits."`
	HistoryDepth int    `key:"history_depth" default:"50" min:"1" max:"1000000" doc:"How many commits deep the history of such a larger repository goes into sandboxes; back to where the task's branch began at least."`
	RepoCache    int64  `key:"repo_cache_bytes" default:"10737418240" min:"0" max:"17592186044416" unit:"bytes" zero:"no cache" doc:"What the copies of repositories on GitHub may weigh together that this machine keeps under home, so that a sandbox costs a fetch of what is new. Those that were not used for the longest time are thrown out."`
}

// Log is about logging to standard error.
type Log struct {
	Level  string `key:"level" default:"info" oneof:"debug info warn error" doc:"Least level that is logged."`
	Format string `key:"format" default:"text" oneof:"text json" doc:"Form of a line."`
}

// Metrics is about showing what is counted to Prometheus.
type Metrics struct {
	Address string `key:"address" zero:"none" doc:"Address, as host:port, on which this process shows /metrics without login; keep it on a loopback or private address. Port 0 is a free one, which the log names."`
}

// Trace is about sending traces to a collector of OpenTelemetry.
type Trace struct {
	Endpoint string  `key:"endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" zero:"no traces are made" doc:"Base URL of the collector, which takes OTLP over HTTP, as http://127.0.0.1:4318."`
	Headers  Secret  `key:"headers" env:"OTEL_EXPORTER_OTLP_HEADERS" zero:"none" doc:"Headers for the collector, as name=value,name=value."`
	Sample   float64 `key:"sample" default:"1" min:"0" max:"1" zero:"none but those that callers began" doc:"Share of new traces that are kept."`
}
