package config

import "time"

// Task holds the defaults and limits of a task. What a task was started with stays with it.
type Task struct {
	Agent            string        `key:"agent" zero:"the first agent runtime that is installed and has a credential" oneof:"scripted claude command external" doc:"Agent of tasks that name none."`
	Sandbox          string        `key:"sandbox" default:"local" oneof:"local docker daytona external" doc:"Sandbox provider of tasks that name none. On macOS the default is docker."`
	MaxRetries       int           `key:"max_retries" default:"3" min:"0" max:"10" zero:"none" doc:"Attempts after the first of tasks that say nothing else."`
	MaxPerProject    int           `key:"max_per_project" env:"MAX_CONCURRENT_TASKS_PER_PROJECT" default:"5" min:"1" max:"1000" doc:"Tasks of one project that run at a time, for new projects."`
	MaxUnverified    int           `key:"max_unverified" default:"0" min:"0" max:"10000" zero:"as many as slots" doc:"Sandboxes that are over and may still be there before no new one is made."`
	StartupTimeout   time.Duration `key:"startup_timeout" default:"3m" min:"10ms" max:"24h" doc:"From assignment to the agent's first event."`
	HeartbeatTimeout time.Duration `key:"heartbeat_timeout" default:"2m" min:"10ms" max:"24h" doc:"Silence after which a running agent is looked at. News of one that works quietly reach its workflow up to relay.quiet_digest late, so silence is noticed after this plus up to that long."`
	NoWorkTimeout    time.Duration `key:"no_work_timeout" env:"STUCK_THRESHOLD_MINUTES(m)" default:"15m" min:"10ms" max:"24h" doc:"Time without work after which a beating agent is looked at."`
	IdleTimeout      time.Duration `key:"idle_timeout" env:"IDLE_THRESHOLD_MINUTES(m)" default:"10m" min:"10ms" max:"168h" doc:"How long an agent may wait for messages."`
	AttemptTimeout   time.Duration `key:"attempt_timeout" default:"4h" min:"100ms" max:"168h" doc:"Longest duration of an attempt."`
	ToolTimeout      time.Duration `key:"tool_timeout" default:"30m" min:"10ms" max:"168h" doc:"Longest duration of one tool call; until then it counts as work."`
	RetryBase        time.Duration `key:"retry_base" default:"5s" min:"1ms" max:"1h" doc:"First pause after an infrastructure failure; it doubles."`
	CleanupWait      time.Duration `key:"cleanup_wait" default:"2m" min:"1ms" max:"1h" doc:"How long the next attempt waits for the sandbox of the previous one to be deleted."`
	SpawnTimeout     time.Duration `key:"spawn_timeout" default:"10m" min:"1s" max:"2h" doc:"Longest making of one sandbox."`
}

// Validation is about the agents that judge the work of others.
type Validation struct {
	Rounds    int    `key:"rounds" env:"MAX_VALIDATION_ITERATIONS" default:"3" min:"1" max:"10" doc:"How often the work of a task is validated at most; the last round that says no ends the task as failed."`
	TaskTypes string `key:"task_types" zero:"none" doc:"Types of tasks whose work is validated unless they say otherwise, separated by commas."`
}

// Relay is about what carries accepted facts to Temporal.
type Relay struct {
	QuietDigest time.Duration `key:"quiet_digest" default:"60s" min:"10ms" max:"1h" doc:"Pause between digests that hold no milestone."`
}

// Reaper is about the schedule that finds what nobody owns.
type Reaper struct {
	Interval time.Duration `key:"interval" default:"60s" min:"1s" max:"1h" doc:"Period of the schedule."`
	Grace    time.Duration `key:"grace" default:"2m" min:"1ms" max:"24h" doc:"Age at which a sandbox without a live attempt is an orphan, and a task without a run is repaired."`
	Overdue  time.Duration `key:"overdue" default:"30m" min:"1s" max:"168h" doc:"How long a sandbox may be over and not verified gone before that is an alarm, in the log, in omoi sandbox list and in /readyz."`
}

// Sandbox holds the defaults and limits of a sandbox.
type Sandbox struct {
	MemoryGB  float64 `key:"memory_gb" env:"SANDBOX_MEMORY_GB" also:"daytona.sandbox_memory_gb" default:"4" min:"0.125" max:"8" unit:"GiB" doc:"Memory of a sandbox."`
	CPU       float64 `key:"cpu" env:"SANDBOX_CPU" also:"daytona.sandbox_cpu" default:"2" min:"0.1" max:"4" unit:"CPUs" doc:"Processors of a sandbox."`
	DiskGB    float64 `key:"disk_gb" env:"SANDBOX_DISK_GB" also:"daytona.sandbox_disk_gb" default:"8" min:"0.125" max:"10" unit:"GB" doc:"Disk of a sandbox."`
	Pids      int     `key:"pids" default:"512" min:"16" max:"32768" doc:"Processes in a sandbox at most."`
	Network   string  `key:"network" default:"host" oneof:"host none" doc:"What a local sandbox reaches: the machine's network, or nothing but the API's socket."`
	Dir       string  `key:"dir" zero:"sandboxes below home; /var/lib/omoi as root" doc:"Where local sandboxes keep their files."`
	Snapshot  string  `key:"snapshot" env:"SANDBOX_SNAPSHOT" also:"daytona.snapshot" default:"ai-agent-dev-light" doc:"Snapshot from which a Daytona sandbox is made, with the resources of the snapshot. An inactive one is activated."`
	Image     string  `key:"image" env:"SANDBOX_IMAGE" also:"daytona.image" zero:"nikolaik/python-nodejs:python3.12-nodejs22" doc:"Image of a Daytona sandbox where the snapshot cannot be had; it needs git, a shell and the usual small tools."`
	Isolation string  `key:"isolation" default:"auto" oneof:"auto require none" doc:"Bubblewrap for local sandboxes: where it works (and a warning where not), always (or refuse to start), never."`
	Shim      string  `key:"shim" zero:"this program" doc:"The omoi program that stands between a worker and its local sandboxes."`
}

// Agent is about omoi-agent, the program inside a sandbox.
type Agent struct {
	Binary      string        `key:"binary" zero:"built in, or beside omoi" doc:"The omoi-agent that is put into sandboxes of this machine's architecture."`
	Grace       time.Duration `key:"grace" default:"10s" min:"1ms" max:"5m" doc:"From SIGTERM to SIGKILL."`
	CacheBytes  int64         `key:"cache_bytes" default:"0" min:"0" max:"17179869184" unit:"bytes" zero:"no cache" doc:"What the dependency cache of a project may weigh: the folder .cache in the agent's home, as the project's setup step leaves it, is given to the project's next sandboxes on this machine."`
	ModelPrices string        `key:"model_prices" doc:"Prices of models in USD per million tokens: model=input/output or model=input/output/cache_read/cache_write, separated by commas. A part of the model's name is enough. They go before the built-in list and before the bill of Claude Code; a project's setting model_prices goes before them. The cost of a model without a price is unknown." zero:"the built-in list"`
	PricesDate  string        `key:"model_prices_date" zero:"not said" doc:"Date of model_prices, as 2026-11-01; events of agents name it."`
	AuthorName  string        `key:"author_name" default:"omoi" doc:"Author of commits that omoi makes."`
	AuthorEmail string        `key:"author_email" default:"omoi@localhost" doc:"Mail address of that author."`
}

// Daytona is about Daytona's cloud.
type Daytona struct {
	APIKey        Secret        `key:"api_key" env:"DAYTONA_API_KEY" zero:"tasks in Daytona sandboxes fail" doc:"API key of Daytona, with write:sandboxes and delete:sandboxes."`
	APIURL        string        `key:"api_url" env:"DAYTONA_API_URL" default:"https://app.daytona.io/api" doc:"API of Daytona."`
	Target        string        `key:"target" env:"DAYTONA_TARGET" default:"us" doc:"Region of Daytona."`
	Execution     bool          `key:"sandbox_execution" env:"DAYTONA_SANDBOX_EXECUTION" default:"false" doc:"Run tasks that name no sandbox at Daytona, as task.sandbox=daytona does."`
	LongestCreate time.Duration `key:"longest_create" default:"5m" min:"1ms" max:"1h" doc:"How late a sandbox may appear whose making got no answer. So long after the first look omoi looks a second time that a deleted one is gone."`
}

// Anthropic is about model calls of agents and of the supervision.
type Anthropic struct {
	APIKey    Secret `key:"api_key" env:"ANTHROPIC_API_KEY" zero:"no model" doc:"API key of Anthropic or of what speaks its API."`
	AuthToken Secret `key:"auth_token" env:"ANTHROPIC_AUTH_TOKEN" zero:"none" doc:"The same as a bearer token, which some compatible endpoints ask for. An api_key goes before it."`
	BaseURL   string `key:"base_url" env:"ANTHROPIC_BASE_URL" zero:"Anthropic's" doc:"Base URL of the model API."`
	Model     string `key:"model" env:"ANTHROPIC_MODEL" zero:"the agent's own choice" doc:"Model of agents that name none."`
}

// Claude is about the Claude Code program.
type Claude struct {
	Bin        string `key:"bin" zero:"found on PATH" doc:"The claude program of this machine, for local sandboxes; every user must be able to reach it where omoi runs as root. Other sandboxes bring their own on PATH."`
	OAuthToken Secret `key:"code_oauth_token" env:"CLAUDE_CODE_OAUTH_TOKEN" zero:"none" doc:"Token of a Claude subscription."`
}

// GitHub is about GitHub.
type GitHub struct {
	URL   string `key:"url" default:"https://github.com" doc:"Address of GitHub, or of a GitHub Enterprise server."`
	Token Secret `key:"token" env:"GITHUB_TOKEN" zero:"none" doc:"Token for repositories on GitHub."`

	AppID      int64  `key:"app_id" env:"GITHUB_APP_ID" default:"0" min:"0" max:"9007199254740991" zero:"no App" doc:"Id of a GitHub App, with whose tokens omoi works where it is installed and nobody has a token of his own."`
	AppKey     Secret `key:"app_key" env:"GITHUB_APP_PRIVATE_KEY" zero:"app_key_file" doc:"Private key of that App (PEM); lines may be separated by \\n."`
	AppKeyFile string `key:"app_key_file" zero:"none" doc:"File of that private key, as GitHub gives it."`

	WebhookSecret   Secret `key:"webhook_secret" env:"GITHUB_WEBHOOK_SECRET" zero:"no webhooks are taken" doc:"Secret with which GitHub signs webhooks, 16 or more characters. All processes of an installation must have the same."`
	WebhookPrevious Secret `key:"webhook_previous" zero:"none" doc:"Secret that signed before and is still accepted."`
	MaxRounds       int    `key:"max_rounds" default:"3" min:"0" max:"20" zero:"none" doc:"Tasks that webhooks may start for one pull request."`
}

// Monitoring is about guardian and conductor.
type Monitoring struct {
	Enabled           bool          `key:"enabled" env:"MONITORING_ENABLED" default:"true" doc:"Run guardian and conductor. They judge whoever is at work, and tell nobody anything unless steering is on."`
	GuardianInterval  time.Duration `key:"guardian_interval" env:"MONITORING_GUARDIAN_INTERVAL_SECONDS(s)" default:"60s" min:"1s" max:"24h" doc:"Period of the guardian."`
	ConductorInterval time.Duration `key:"conductor_interval" env:"MONITORING_CONDUCTOR_INTERVAL_SECONDS(s)" default:"300s" min:"1s" max:"24h" doc:"Period of the conductor."`
	AutoSteering      bool          `key:"auto_steering" env:"MONITORING_AUTO_STEERING_ENABLED" default:"false" doc:"Let the guardian act in projects that do not say; what it would have done is recorded all the same."`
	CoolDown          time.Duration `key:"cool_down" default:"10m" min:"1ms" max:"24h" doc:"Time that a step of the guardian has to show, before the next one in the same attempt."`
	MaxInterventions  int           `key:"max_interventions" default:"4" min:"1" max:"100" doc:"Steps of the guardian in one attempt at most."`
	AnalysisCache     time.Duration `key:"analysis_cache" default:"5m" min:"0s" max:"24h" zero:"judge in every cycle" doc:"How long a judgement stands before a cycle makes a new one."`
	Keep              time.Duration `key:"keep" default:"336h" min:"1h" max:"8760h" doc:"How long judgements are kept that led to nothing."`
	MaxAnalyses       int           `key:"max_concurrent_analyses" env:"MONITORING_MAX_CONCURRENT_ANALYSES" default:"5" min:"1" max:"100" doc:"Model analyses at a time."`
	LLMAnalysis       bool          `key:"llm_analysis" env:"MONITORING_LLM_ANALYSIS_ENABLED" default:"true" doc:"Ask a model where a key and a model are named."`
	Model             string        `key:"model" zero:"anthropic.model; without that no model is asked" doc:"Model that judges, at anthropic.base_url with the key of the group anthropic."`
	ModelTokens       int           `key:"model_tokens" default:"500000" min:"0" max:"1000000000" zero:"no limit" doc:"Tokens that the model may take in one cycle, of the guardian and of the conductor each; whoever is left is judged by rules alone."`
	ModelUSD          float64       `key:"model_usd" default:"0" min:"0" max:"10000" unit:"USD" zero:"no limit" doc:"Money that the model may take in one cycle, where its prices are known."`
}

// Orchestra is the pause switch.
type Orchestra struct {
	Enabled bool `key:"enabled" env:"ORCHESTRATOR_ENABLED" default:"true" doc:"Start new tasks. False accepts and queues them, and lets running ones finish."`
}
