package config

import "time"

// Task holds the defaults and limits of tasks.
type Task struct {
	Agent                   string        `key:"agent" zero:"the first agent runtime that is installed and has a credential" oneof:"runtimes" doc:"Agent runtime of tasks that name none."`
	Provider                string        `key:"provider" default:"local" oneof:"providers" doc:"Sandbox provider of tasks that name none. On macOS the default is docker."`
	MaxRetries              int           `key:"max_retries" default:"3" min:"0" max:"10" zero:"none" doc:"Maximum number of retries of tasks that name none."`
	MaxConcurrentPerProject int           `key:"max_concurrent_per_project" env:"MAX_CONCURRENT_TASKS_PER_PROJECT" default:"5" min:"1" max:"1000" doc:"Concurrency limit of new projects."`
	MaxUnverifiedSandboxes  int           `key:"max_unverified_sandboxes" default:"0" min:"0" max:"10000" zero:"as many as slots" doc:"Maximum number of ended sandboxes of a provider whose deletion is unverified. At the limit, omoi creates no new ones."`
	StartupTimeout          time.Duration `key:"startup_timeout" default:"3m" min:"10ms" max:"24h" doc:"Maximum time from assignment to the agent's first event."`
	HeartbeatTimeout        time.Duration `key:"heartbeat_timeout" default:"2m" min:"10ms" max:"24h" doc:"Silence after which omoi checks a running agent. The workflow learns of quiet work up to relay.digest_interval late, so the check may be that much later."`
	NoWorkTimeout           time.Duration `key:"no_work_timeout" env:"STUCK_THRESHOLD_MINUTES(m)" default:"15m" min:"10ms" max:"24h" doc:"Time without work after which omoi checks an agent that still sends heartbeats."`
	IdleTimeout             time.Duration `key:"idle_timeout" env:"IDLE_THRESHOLD_MINUTES(m)" default:"10m" min:"10ms" max:"168h" doc:"Maximum time that an agent may wait for messages."`
	QuestionWait            time.Duration `key:"question_wait" default:"5m" min:"10ms" max:"168h" doc:"Time that an agent waits for the answer to its question before its task is suspended, without a sandbox and a slot. At most task.attempt_timeout."`
	QuestionExpiry          time.Duration `key:"question_expiry" default:"0s" min:"0s" max:"87600h" zero:"without a limit" doc:"Time after which a question is no longer answered, from its start. The task then fails, and its work is saved."`
	AttemptTimeout          time.Duration `key:"attempt_timeout" default:"4h" min:"100ms" max:"168h" doc:"Maximum duration of an attempt."`
	ToolTimeout             time.Duration `key:"tool_timeout" default:"30m" min:"10ms" max:"168h" doc:"Maximum duration of one tool call. Until then it counts as work."`
	SandboxCreateTimeout    time.Duration `key:"sandbox_create_timeout" default:"10m" min:"1s" max:"2h" doc:"Maximum time to create a sandbox."`
	RetryInitialInterval    time.Duration `key:"retry_initial_interval" default:"5s" min:"1ms" max:"1h" doc:"Delay of the first retry after an infrastructure failure. It doubles with each retry."`
	CleanupTimeout          time.Duration `key:"cleanup_timeout" default:"2m" min:"1ms" max:"1h" doc:"Maximum time that the next attempt waits for the deletion of the previous sandbox."`
}

// Validation configures validation by other agents.
type Validation struct {
	MaxRounds int    `key:"max_rounds" env:"MAX_VALIDATION_ITERATIONS" default:"3" min:"1" max:"10" doc:"Maximum number of validation rounds of a task. If the last one rejects the work, the task fails."`
	TaskTypes string `key:"task_types" zero:"none" doc:"Task types that are validated by default, separated by commas."`
}

// Checkpoint configures the checkpoints of attempts.
type Checkpoint struct {
	Interval time.Duration `key:"interval" default:"10s" min:"0s" max:"1h" zero:"no checkpoints" doc:"Time between two checkpoints of a workspace that changes: a lost machine costs at most this much work, plus the time to send a checkpoint. Longer for a workspace whose files take long to read."`
	MaxBytes int64         `key:"max_bytes" default:"1073741824" min:"1048576" max:"17592186044416" unit:"bytes" doc:"Maximum size of the packs of a task's checkpoints: by default room for the longest two packs. At the limit the API deletes the oldest segments, and keeps the last one of each attempt and those that a rewind names."`
	Store    string        `key:"store" zero:"the database" doc:"Where packs of checkpoints are stored: s3://bucket/prefix?region=eu-central-1, with endpoint=https://host for other services than Amazon S3, or file:///folder, which all API processes and workers share. Packs reach the database first; retention moves those that are left there. Credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, or the role of the machine or pod."`
}

// Relay configures the outbox to Temporal.
type Relay struct {
	DigestInterval time.Duration `key:"digest_interval" default:"60s" min:"10ms" max:"1h" doc:"Minimum time between digests without a milestone. Each digest is one Temporal signal."`
}

// Reaper configures the schedule that deletes orphaned sandboxes.
type Reaper struct {
	Interval             time.Duration `key:"interval" default:"60s" min:"1s" max:"1h" doc:"Period of the reaper."`
	GracePeriod          time.Duration `key:"grace_period" default:"2m" min:"1ms" max:"24h" doc:"Age from which a sandbox without a live attempt is an orphan, and a task without a workflow run is reconciled."`
	UnverifiedAlertAfter time.Duration `key:"unverified_alert_after" default:"30m" min:"1s" max:"168h" doc:"Time after its end after which an unverified sandbox raises an alert in the log, in omoi sandbox list and in /readyz."`
}

// Worker configures one worker process.
type Worker struct {
	HostID            string `key:"host_id" zero:"created once and kept below home" doc:"ID of this host in the task queue of its sandboxes."`
	MaxSandboxes      int    `key:"max_sandboxes" default:"8" min:"1" max:"1000" doc:"A host with this many sandboxes starts no further attempt. Repeated tests add one sandbox to an attempt."`
	StickyCacheSize   int    `key:"sticky_cache_size" default:"1000" min:"0" max:"100000" zero:"replay at every workflow task" doc:"Number of workflows kept in memory."`
	FullCloneMaxBytes int64  `key:"full_clone_max_bytes" default:"268435456" min:"0" max:"17592186044416" unit:"bytes" zero:"always the whole history" doc:"Maximum size of a repository whose whole history is cloned into sandboxes. Of a larger one, only the newest commits are."`
	CloneDepth        int    `key:"clone_depth" default:"50" min:"1" max:"1000000" doc:"Number of commits in the clone of a larger repository. It always reaches the commit where the task's branch started."`
}

// Retention sets how long data of ended tasks is kept.
type Retention struct {
	Interval    time.Duration `key:"interval" default:"1h" min:"1s" max:"24h" doc:"Period of retention passes."`
	Events      time.Duration `key:"events" default:"4320h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which events are deleted, with their large fields and the log of their sandbox."`
	LargeFields time.Duration `key:"large_fields" default:"2160h" min:"0s" max:"87600h" zero:"as long as their events" doc:"Age at which large fields of events are deleted."`
	Transcripts time.Duration `key:"transcripts" default:"4320h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which transcripts are deleted."`
	Checkpoints time.Duration `key:"checkpoints" default:"2160h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which checkpoints are deleted: as branches without commits, on which their packs rely."`
	Patches     time.Duration `key:"patches" default:"8760h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which saved work is deleted that omoi stores as a patch or a bundle."`
	BusRows     time.Duration `key:"bus_rows" default:"720h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which rows of the event bus are deleted, from their creation. Rows of open tasks stay."`
	Branches    time.Duration `key:"branches" default:"2160h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which branches are deleted that omoi created and that have neither commits of their own nor a pull request."`
	Refs        time.Duration `key:"refs" default:"8760h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which a task's refs below refs/omoi/ are deleted, including rescue refs."`
}
