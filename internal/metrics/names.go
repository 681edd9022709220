package metrics

// Names of the metrics that omoi itself exposes.
const (
	HTTPRequests   = "omoi_http_request_duration_seconds"
	StreamsOpen    = "omoi_streams_open"
	GitHubWebhooks = "omoi_github_webhooks_total"

	EventsStored       = "omoi_events_stored_total"
	EventsDeduplicated = "omoi_events_deduplicated_total"
	EventBatches       = "omoi_event_batches_total"
	EventBatchSize     = "omoi_event_batch_requests"
	EventCommits       = "omoi_event_commit_duration_seconds"
	EventsRejected     = "omoi_ingest_requests_rejected_total"
	IngestWait         = "omoi_ingest_wait_seconds"
	IngestQueue        = "omoi_ingest_queue_length"

	CheckpointsStored   = "omoi_checkpoints_stored_total"
	CheckpointPackBytes = "omoi_checkpoint_pack_bytes_total"
	CheckpointFailures  = "omoi_checkpoint_failures_total"
	CheckpointScanned   = "omoi_checkpoint_changes_found_by_scan_total"
	CheckpointAge       = "omoi_checkpoint_age_seconds"
	CheckpointBytes     = "omoi_checkpoint_stored_bytes"

	RelaySent     = "omoi_relay_sent_total"
	RelayFailures = "omoi_relay_failures_total"
	RelayDropped  = "omoi_relay_dropped_total"
	RelayLag      = "omoi_relay_lag_seconds"
	RelayEventLag = "omoi_relay_event_lag_seconds"

	Tasks           = "omoi_tasks"
	TasksQueued     = "omoi_tasks_queued"
	TaskCompletions = "omoi_task_completions_total"
	AttemptsStarted = "omoi_attempts_started_total"
	AttemptsEnded   = "omoi_attempts_ended_total"
	SlotsUsed       = "omoi_slots_used"
	ActivitiesCut   = "omoi_activities_cut_off_total"

	Sandboxes           = "omoi_sandboxes"
	SandboxesUnverified = "omoi_sandboxes_unverified"
	ReaperSuccess       = "omoi_reaper_last_success_timestamp_seconds"

	GuardianSuccess  = "omoi_guardian_last_success_timestamp_seconds"
	GuardianAnalyses = "omoi_guardian_analyses_total"
	Interventions    = "omoi_guardian_interventions_total"

	ConductorSuccess  = "omoi_conductor_last_success_timestamp_seconds"
	ConductorAnalyses = "omoi_conductor_analyses_total"
	ConductorLinks    = "omoi_conductor_duplicates_total"

	PoolConnections = "omoi_database_connections"
	PoolMax         = "omoi_database_connections_max"
	PoolAcquires    = "omoi_database_acquires_total"
	PoolWaits       = "omoi_database_acquire_waits_total"
	PoolWaited      = "omoi_database_acquire_wait_seconds_total"
	DiskFull        = "omoi_database_disk_full"

	CollectionFailed = "omoi_metrics_collection_failed"
	BuildInfo        = "omoi_build_info"
)

// Metric describes one metric.
type Metric struct {
	Name   string
	Type   string // counter, gauge, histogram
	Labels []string
	Help   string // one sentence
	From   string // api, worker, or both: the processes in which it moves
}

// Processes that a metric moves in.
const (
	fromAPI    = "api"
	fromWorker = "worker"
	fromBoth   = "both"
)

// Catalogue lists every metric of ours; docs/METRICS.md is made of it.
func Catalogue() []Metric { return catalogue }

var catalogue = []Metric{ //nolint:gochecknoglobals // a constant table
	{HTTPRequests, "histogram", []string{"method", "route", "status"}, "Time to serve a request, by route pattern and status class (2xx to 5xx). Long polls include their wait; streams count until they are open.", fromAPI},
	{GitHubWebhooks, "counter", []string{"event", "outcome"}, "GitHub webhooks, by event and outcome: pending (a message or a task follows), noted, repeated, ignored, refused (signature or content is invalid), failed.", fromAPI},
	{StreamsOpen, "gauge", []string{"kind"}, "Open streams: sandbox, task and tasks (server-sent events), websocket.", fromAPI},

	{EventsStored, "counter", nil, "Stored events, without duplicates.", fromAPI},
	{EventsDeduplicated, "counter", nil, "Events that were already stored.", fromAPI},
	{EventBatches, "counter", nil, "Transactions that stored events. One transaction stores the events of many requests.", fromAPI},
	{EventBatchSize, "histogram", nil, "Requests in one such transaction.", fromAPI},
	{EventCommits, "histogram", nil, "Time of one such transaction.", fromAPI},
	{EventsRejected, "counter", []string{"reason"}, "Rejected requests: queue (full or stopping), store (the transaction failed).", fromAPI},
	{IngestWait, "histogram", nil, "Time from reading a request to its commit.", fromAPI},
	{IngestQueue, "gauge", nil, "Requests that wait for a transaction.", fromAPI},

	{CheckpointsStored, "counter", nil, "Stored checkpoints.", fromAPI},
	{CheckpointPackBytes, "counter", nil, "Bytes of their packs.", fromAPI},
	{CheckpointFailures, "counter", []string{"reason"}, "Failures with checkpoints: conflict (a sender has another pack, or is outdated), limit (too many bytes), database (could not store), object_store (the pack stays in the database until retention moves it), unreadable (a pack that was requested is missing or damaged, or its store does not answer), sandbox (omoi-agent reported agent.checkpoint_failed).", fromBoth},
	{CheckpointScanned, "counter", nil, "Changes of files that inotify had not reported and a scan of all files found.", fromAPI},
	{CheckpointAge, "gauge", nil, "Age of the newest checkpoint of a running attempt: the highest of all running attempts that have one. An unchanged workspace gets no new checkpoints.", fromBoth},
	{CheckpointBytes, "gauge", []string{"store"}, "Bytes of stored checkpoints: database (size of its tables), objects (packs in checkpoint.store), unreadable (those of objects while checkpoint.store is empty).", fromBoth},

	{RelaySent, "counter", []string{"what"}, "Messages that the relay sent to Temporal: start, command, admitted, digest.", fromAPI},
	{RelayFailures, "counter", []string{"what"}, "Failed relay attempts, retried later: start, command, admitted, digest, store.", fromAPI},
	{RelayDropped, "counter", []string{"what"}, "Messages that the relay gave up, each with an alert in the log: start, command, admitted, digest.", fromAPI},
	{RelayLag, "gauge", nil, "Age of the oldest command or admission that is due. 0: none is due.", fromBoth},
	{RelayEventLag, "gauge", nil, "Age of the oldest events that are due. 0: none are due.", fromBoth},

	{Tasks, "gauge", []string{"status"}, "Tasks that have not ended, by status.", fromBoth},
	{TasksQueued, "gauge", nil, "Tasks that wait for a slot.", fromBoth},
	{TaskCompletions, "counter", []string{"outcome", "failure_class"}, "Ended tasks: completed, failed, cancelled. failure_class is set for failed tasks only. A retried task ends again.", fromWorker},
	{AttemptsStarted, "counter", []string{"kind"}, "Started attempts: first, retry, revision, replacement, resumed, rewound, forked, validation.", fromWorker},
	{AttemptsEnded, "counter", []string{"outcome", "failure_class"}, "Ended attempts.", fromWorker},
	{SlotsUsed, "gauge", nil, "Slots in use.", fromBoth},
	{ActivitiesCut, "counter", []string{"activity"}, "Activities that were cancelled because Temporal did not answer a heartbeat in time or had timed them out. Each is retried.", fromWorker},

	{Sandboxes, "gauge", []string{"provider"}, "Sandboxes that are being created, run, or are being deleted.", fromBoth},
	{SandboxesUnverified, "gauge", []string{"provider"}, "Sandboxes of ended attempts whose deletion is not verified. The limit task.max_unverified_sandboxes counts those that may still exist.", fromBoth},
	{ReaperSuccess, "gauge", nil, "Time of the last complete reaper pass in any worker, in seconds since 1970. Absent before the first pass. The reaper is paused while no task is open and no sandbox exists.", fromBoth},

	{GuardianSuccess, "gauge", nil, "Time of the last complete guardian cycle in any worker, in seconds since 1970. Absent before the first cycle. The guardian is paused with the reaper, or by a user.", fromBoth},
	{GuardianAnalyses, "counter", []string{"verdict", "source"}, "Analyses of attempts, by verdict: healthy, steer, unknown. source is rules, model or none.", fromBoth},
	{Interventions, "counter", []string{"level", "mode"}, "Interventions of the guardian: observe, nudge, interrupt, replace. mode is live or shadow.", fromBoth},

	{ConductorSuccess, "gauge", nil, "Time of the last complete conductor cycle in any worker, in seconds since 1970. Absent before the first cycle. The conductor is paused with the reaper, or by a user.", fromBoth},
	{ConductorAnalyses, "counter", []string{"status"}, "Analyses of all active agents of an organization: critical, warning, inefficient, normal, optimal, unknown.", fromWorker},
	{ConductorLinks, "counter", []string{"source"}, "Pairs of tasks with similar work, counted in each cycle that finds them. source is text or model.", fromWorker},

	{PoolConnections, "gauge", []string{"state"}, "Database connections of this process: used, idle.", fromBoth},
	{PoolMax, "gauge", nil, "Maximum number of database connections of this process: database.max_conns, and those of ingest after its first event.", fromBoth},
	{PoolAcquires, "counter", nil, "Connections taken from the pool.", fromBoth},
	{PoolWaits, "counter", nil, "Times that no connection was free.", fromBoth},
	{PoolWaited, "counter", nil, "Time spent waiting for a connection.", fromBoth},
	{DiskFull, "gauge", nil, "1 if the last write of this process found the disk of the database full (SQLSTATE 53100). Raise an alert: omoi cannot store one itself.", fromBoth},
	{CollectionFailed, "gauge", nil, "1 if the gauges from the database could not be read. They are absent then.", fromBoth},
	{BuildInfo, "gauge", []string{"version"}, "1, with the version of the binary.", fromBoth},
}
