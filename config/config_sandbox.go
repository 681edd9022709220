package config

import "time"

// Sandbox holds the defaults and limits of sandboxes.
type Sandbox struct {
	MemoryGB  float64 `key:"memory_gb" env:"SANDBOX_MEMORY_GB" also:"daytona.sandbox_memory_gb" default:"4" min:"0.125" max:"8" unit:"GiB" doc:"Memory of a sandbox."`
	CPU       float64 `key:"cpu" env:"SANDBOX_CPU" also:"daytona.sandbox_cpu" default:"2" min:"0.1" max:"4" unit:"CPUs" doc:"CPUs of a sandbox."`
	DiskGB    float64 `key:"disk_gb" env:"SANDBOX_DISK_GB" also:"daytona.sandbox_disk_gb" default:"8" min:"0.125" max:"10" unit:"GB" doc:"Disk of a sandbox."`
	Pids      int     `key:"pids" default:"512" min:"16" max:"32768" doc:"Maximum number of processes in a sandbox."`
	Network   string  `key:"network" default:"host" oneof:"host none" doc:"Network of a local sandbox: that of the host, or only the API's socket."`
	Dir       string  `key:"dir" zero:"sandboxes below home; /var/lib/omoi as root" doc:"Directory of local sandboxes."`
	Snapshot  string  `key:"snapshot" env:"SANDBOX_SNAPSHOT" also:"daytona.snapshot" default:"ai-agent-dev-light" doc:"Snapshot of Daytona sandboxes, which also sets their size. An inactive snapshot is activated."`
	Image     string  `key:"image" env:"SANDBOX_IMAGE" also:"daytona.image" zero:"nikolaik/python-nodejs:python3.12-nodejs22" doc:"Image of Daytona sandboxes if the snapshot is unavailable. It needs git, a shell and the usual small tools."`
	Isolation string  `key:"isolation" default:"auto" oneof:"auto require none" doc:"Bubblewrap for local sandboxes: if it works (with a warning if not), required to start, or never."`
}

// PerProvider holds one setting for each sandbox provider with machines, by name.
type PerProvider map[string]*string

// Transport selects how agents report events, by provider.
type Transport struct {
	ByProvider   PerProvider   `default:"auto" oneof:"auto push pull" doc:"Transport of %s sandboxes. auto is push; at a provider elsewhere it is pull if api.callback_url is a private address, or sandbox.network is none."`
	PullInterval time.Duration `key:"pull_interval" default:"1s" min:"10ms" max:"1m" doc:"Interval between pulls from the sandbox of a quiet agent. A busy one is read up to 8 times as often."`
}

// Agent configures omoi-agent, the supervisor process in a sandbox.
type Agent struct {
	Binary              string        `key:"binary" zero:"built in, or beside omoi" doc:"Path of omoi-agent for sandboxes of this host's architecture."`
	ShutdownGracePeriod time.Duration `key:"shutdown_grace_period" default:"10s" min:"1ms" max:"5m" doc:"Time between SIGTERM and SIGKILL for an agent."`
	ModelPrices         string        `key:"model_prices" zero:"the built-in list" doc:"Model prices in USD per million tokens: model=input/output or model=input/output/cache_read/cache_write, separated by commas. A part of the model's name is enough. They take precedence over the built-in list and over the cost that Claude Code reports; a project's setting model_prices takes precedence over them. The cost of a model without a price is unknown."`
	PricesDate          string        `key:"model_prices_date" zero:"unknown" doc:"Date of model_prices, for example 2026-11-01. Agent events name it."`
	AuthorName          string        `key:"author_name" default:"omoi" doc:"Author of commits that omoi makes."`
	AuthorEmail         string        `key:"author_email" default:"omoi@localhost" doc:"E-mail address of that author."`
}

// Docker configures sandboxes that are containers of a Docker engine.
type Docker struct {
	Enabled  string `key:"enabled" default:"auto" oneof:"auto always never" doc:"Offer Docker sandboxes on this host: if the engine's socket exists, always, or never."`
	Host     string `key:"host" env:"DOCKER_HOST" default:"unix:///var/run/docker.sock" doc:"Address of the Docker engine."`
	CertPath string `key:"cert_path" env:"DOCKER_CERT_PATH" zero:"no TLS" doc:"Directory of ca.pem, cert.pem and key.pem for an engine with TLS."`
	Image    string `key:"image" default:"node:22-bookworm" doc:"Image of Docker sandboxes. It needs /bin/sh, git, CA certificates, and the tools of the projects; docs/DOCKER.md shows how to build one."`
	Pull     string `key:"pull" default:"missing" oneof:"missing never" doc:"Pull the image if the engine does not have it, or never."`
	Network  string `key:"network" default:"bridge" doc:"Network of a Docker sandbox: bridge, host, none, or a network of the engine. If sandbox.network is none, it is none."`
	User     string `key:"user" default:"1000:1000" doc:"Numeric user and group of all processes in a Docker sandbox; never root."`
}

// Daytona configures sandboxes in Daytona's cloud.
type Daytona struct {
	APIKey         Secret        `key:"api_key" env:"DAYTONA_API_KEY" zero:"tasks in Daytona sandboxes fail" doc:"API key of Daytona, with write:sandboxes and delete:sandboxes."`
	APIURL         string        `key:"api_url" env:"DAYTONA_API_URL" default:"https://app.daytona.io/api" doc:"URL of Daytona's API."`
	Target         string        `key:"target" env:"DAYTONA_TARGET" default:"us" doc:"Region of Daytona."`
	Execution      bool          `key:"sandbox_execution" env:"DAYTONA_SANDBOX_EXECUTION" default:"false" doc:"Run tasks that name no provider at Daytona, as task.provider=daytona does."`
	MaxCreateDelay time.Duration `key:"max_create_delay" default:"5m" min:"1ms" max:"1h" doc:"Maximum delay after which an unanswered create request can still produce a sandbox. The second absence check runs this long after the first."`
}

// OpenHands configures sandboxes on the machine of an OpenHands agent server, and the server that omoi openhands start starts.
type OpenHands struct {
	URL        string `key:"url" env:"WORKSPACE_REMOTE_HOST" zero:"that of omoi openhands start" doc:"Address of the server, as http://host:port."`
	APIKey     Secret `key:"api_key" env:"WORKSPACE_REMOTE_API_KEY" zero:"none: the server must be on this machine" doc:"A session API key of that server."`
	Dir        string `key:"dir" default:"/var/tmp/omoi-openhands" doc:"Folder of sandboxes on the server's machine. Its user must be able to create it. Change it without sandboxes only."`
	Isolation  string `key:"isolation" default:"none" oneof:"none require" doc:"Bubblewrap for these sandboxes: never, or always. Change it without sandboxes only."`
	ServerPort int    `key:"server_port" env:"AGENT_SERVER_PORT" default:"0" min:"0" max:"65535" zero:"a free port" doc:"Port of the server that omoi openhands start starts. It listens on loopback."`
	ServerKey  Secret `key:"server_key" env:"AGENT_SERVER_API_KEY" zero:"a random key" doc:"Session API key of that server."`
}
