package metrics

import "slices"

// Names of the metrics that omoi itself exposes.
const (
	HTTPRequests = "omoi_http_request_duration_seconds"
	StreamsOpen  = "omoi_streams_open"
	Webhooks     = "omoi_webhooks_total"

	EventsStored    = "omoi_events_stored_total"
	EventsDuplicate = "omoi_events_duplicate_total"
	EventBatches    = "omoi_event_batches_total"
	EventBatchSize  = "omoi_event_batch_requests"
	EventCommits    = "omoi_event_commit_duration_seconds"
	EventsRefused   = "omoi_event_requests_refused_total"
	IntakeWait      = "omoi_intake_wait_seconds"
	IntakeQueue     = "omoi_intake_queue_length"

	RelaySent     = "omoi_relay_sent_total"
	RelayFailures = "omoi_relay_failures_total"
	RelayDropped  = "omoi_relay_dropped_total"
	RelayLag      = "omoi_relay_lag_seconds"
	RelayEventLag = "omoi_relay_event_lag_seconds"

	Tasks           = "omoi_tasks"
	TasksWaiting    = "omoi_tasks_waiting"
	TaskCompletions = "omoi_task_completions_total"
	AttemptsBegun   = "omoi_attempts_begun_total"
	AttemptsEnded   = "omoi_attempts_ended_total"
	SlotsUsed       = "omoi_slots_used"
	ActivitiesCut   = "omoi_activities_cut_off_total"

	SandboxesAlive      = "omoi_sandboxes_alive"
	SandboxesUnverified = "omoi_sandboxes_unverified"
	ReaperAge           = "omoi_reaper_last_run_age_seconds"

	GuardianAge      = "omoi_guardian_last_run_age_seconds"
	GuardianAnalyses = "omoi_guardian_analyses_total"
	Interventions    = "omoi_guardian_interventions_total"

	ConductorAge      = "omoi_conductor_last_run_age_seconds"
	ConductorAnalyses = "omoi_conductor_analyses_total"
	ConductorLinks    = "omoi_conductor_duplicates_total"

	PoolConnections = "omoi_database_connections"
	PoolMax         = "omoi_database_connections_max"
	PoolAcquires    = "omoi_database_acquires_total"
	PoolWaits       = "omoi_database_acquire_waits_total"
	PoolWaited      = "omoi_database_acquire_wait_seconds_total"
	DiskFull        = "omoi_database_disk_full"

	StateFailed = "omoi_metrics_state_failed"
	BuildInfo   = "omoi_build_info"
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
func Catalogue() []Metric {
	return slices.Concat(requestMetrics(), intakeMetrics(), relayMetrics(), taskMetrics(), sandboxMetrics(), guardianMetrics(), conductorMetrics(), processMetrics())
}

func requestMetrics() []Metric {
	return []Metric{
		{HTTPRequests, "histogram", []string{"method", "route", "status"}, "Time to answer a request, by route pattern and status class (2xx ... 5xx); long polls count with their wait, streams with what it took to open them.", fromAPI},
		{Webhooks, "counter", []string{"event", "outcome"}, "Webhooks of GitHub, by event and what became of them: held (an agent or a task will be told), noted, repeated, ignored, refused (not signed, or not understood), failed.", fromAPI},
		{StreamsOpen, "gauge", []string{"kind"}, "Streams that are open: sandbox and task (server-sent events), websocket.", fromAPI},
	}
}

func intakeMetrics() []Metric {
	return []Metric{
		{EventsStored, "counter", nil, "Events that were committed for the first time.", fromAPI},
		{EventsDuplicate, "counter", nil, "Events that had been stored before and were skipped.", fromAPI},
		{EventBatches, "counter", nil, "Transactions that stored events; each holds what many requests sent.", fromAPI},
		{EventBatchSize, "histogram", nil, "Requests in one such transaction.", fromAPI},
		{EventCommits, "histogram", nil, "Time of one such transaction.", fromAPI},
		{EventsRefused, "counter", []string{"reason"}, "Requests that were turned away: queue (full or stopping), store (the transaction failed).", fromAPI},
		{IntakeWait, "histogram", nil, "Time from taking a request in to its commit.", fromAPI},
		{IntakeQueue, "gauge", nil, "Requests that wait for a transaction now.", fromAPI},
	}
}

func relayMetrics() []Metric {
	return []Metric{
		{RelaySent, "counter", []string{"what"}, "Handed to Temporal: start, command, admitted, digest.", fromAPI},
		{RelayFailures, "counter", []string{"what"}, "Tries to hand something over that came to nothing and are made again: start, command, admitted, digest, store.", fromAPI},
		{RelayDropped, "counter", []string{"what"}, "Given up, with an alarm in the log: start, command, admitted, digest.", fromAPI},
		{RelayLag, "gauge", nil, "Age of the oldest command or admission that is due and not handed over; 0 if there is none.", fromBoth},
		{RelayEventLag, "gauge", nil, "Age of the oldest events that are due and not handed over; 0 if there are none.", fromBoth},
	}
}

func taskMetrics() []Metric {
	return []Metric{
		{Tasks, "gauge", []string{"status"}, "Tasks that have not ended, by status.", fromBoth},
		{TasksWaiting, "gauge", nil, "Tasks that wait for a slot.", fromBoth},
		{TaskCompletions, "counter", []string{"outcome", "failure_class"}, "Ends of tasks: completed, failed, cancelled; failure_class is empty but for failed ones. A retry by a person ends once more.", fromWorker},
		{AttemptsBegun, "counter", []string{"kind"}, "Attempts begun: first, retry, revision, replacement, resumed, validation.", fromWorker},
		{AttemptsEnded, "counter", []string{"outcome", "failure_class"}, "Ends of attempts.", fromWorker},
		{SlotsUsed, "gauge", nil, "Slots that are held.", fromBoth},
		{ActivitiesCut, "counter", []string{"activity"}, "Activities that were cancelled because Temporal did not answer a heartbeat in time, or had timed them out; each is retried.", fromWorker},
	}
}

func sandboxMetrics() []Metric {
	return []Metric{
		{SandboxesAlive, "gauge", []string{"provider"}, "Sandboxes that are made, run, or are being deleted.", fromBoth},
		{SandboxesUnverified, "gauge", []string{"provider"}, "Sandboxes whose attempt is over and that are not verified gone; the limit task.max_unverified counts those of them that may still be there.", fromBoth},
		{ReaperAge, "gauge", nil, "Time since the reaper last ran to its end, in any worker; absent before its first run. It grows while the reaper rests, that is while no task is open and no sandbox alive.", fromBoth},
	}
}

func guardianMetrics() []Metric {
	return []Metric{
		{GuardianAge, "gauge", nil, "Time since a cycle of the guardian last came to its end, in any worker; absent before the first one. It grows while the guardian rests, that is while no task is open and no sandbox alive, and while a person has paused it.", fromBoth},
		{GuardianAnalyses, "counter", []string{"verdict", "spoken_by"}, "Judgements of attempts: healthy, steer, unknown; spoken_by is rules, model, or none where nobody could say.", fromBoth},
		{Interventions, "counter", []string{"level", "mode"}, "Steps that the guardian decided on: observe, nudge, interrupt, replace; mode is live, or shadow where nobody is told.", fromBoth},
	}
}

func conductorMetrics() []Metric {
	return []Metric{
		{ConductorAge, "gauge", nil, "Time since a cycle of the conductor last came to its end, in any worker; absent before the first one. It grows while the conductor rests, as the guardian does, and while a person has paused it.", fromBoth},
		{ConductorAnalyses, "counter", []string{"status"}, "Looks at all agents of an organization together: critical, warning, inefficient, normal, optimal, unknown.", fromWorker},
		{ConductorLinks, "counter", []string{"spoken_by"}, "Pairs of tasks about the same work, once for each cycle that finds them; spoken_by is words or model.", fromWorker},
	}
}

func processMetrics() []Metric {
	return []Metric{
		{PoolConnections, "gauge", []string{"state"}, "Connections of this process to the database: used, idle.", fromBoth},
		{PoolMax, "gauge", nil, "Connections that this process opens at most: database.max_conns, and those of its intake once it has stored something.", fromBoth},
		{PoolAcquires, "counter", nil, "Connections taken from the pool.", fromBoth},
		{PoolWaits, "counter", nil, "Times that nothing was free, so that somebody waited.", fromBoth},
		{PoolWaited, "counter", nil, "Time spent on those waits.", fromBoth},
		{DiskFull, "gauge", nil, "1 if the last write that this process looked at found the disk of the database full (SQLSTATE 53100): raise an alert, since omoi can store none then.", fromBoth},
		{StateFailed, "gauge", nil, "1 if the gauges that come from the database could not be read; they are absent then.", fromBoth},
		{BuildInfo, "gauge", []string{"version"}, "1, with the version of the binary.", fromBoth},
	}
}
