package metrics

import (
	"fmt"
	"strings"
)

// Markdown returns docs/METRICS.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("\n| name | type | labels | moves in | meaning |\n|---|---|---|---|---|\n")
	for _, m := range Catalogue() {
		labels := make([]string, 0, len(m.Labels))
		for _, l := range m.Labels {
			labels = append(labels, "`"+l+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Type, strings.Join(labels, ", "), m.From, m.Help)
	}
	b.WriteString(rest)
	return b.String()
}

const preamble = `# Metrics

Generated from package internal/metrics by ` + "`make generate`" + `; do not edit.

omoi shows what it counts in the form of Prometheus. The names below are a contract: they are only added to. No label
names a task, a project, a sandbox or anything that a person wrote.

Where:

- The API answers ` + "`GET /metrics`" + `: without login where the API is open (as under ` + "`omoi dev`" + `, one process with everything
  in it), else for a key with the scope admin (` + "`Authorization: Bearer <key>`" + `), since the numbers are of the whole installation.
- ` + "`metrics.address`" + ` (` + "`OMOI_METRICS_ADDRESS`" + `, as ` + "`127.0.0.1:9464`" + `) opens a listener of its own in ` + "`omoi api`" + ` and in ` + "`omoi worker`" + `,
  without login: keep it on loopback or a private network. It is off by default; a worker shows nothing without it.

Counters are of one process and begin at zero with it: sum them over processes. Gauges that come from the database
(tasks, slots, sandboxes, lags, times of the last success) are the same in every process: take their maximum. They are read when
they are requested, at most once in 5 s.
`

const rest = `
Beside these there are ` + "`go_*`" + ` and ` + "`process_*`" + `, and those of the Temporal SDK, as ` + "`temporal_request_total`" + `,
` + "`temporal_request_latency_seconds`" + `, ` + "`temporal_workflow_task_schedule_to_start_latency_seconds`" + `,
` + "`temporal_activity_schedule_to_start_latency_seconds`" + `, ` + "`temporal_worker_task_slots_available`" + `,
` + "`temporal_sticky_cache_size`" + `, ` + "`temporal_workflow_task_execution_failed_total`" + ` and ` + "`temporal_activity_execution_failed_total`" + `. Their names are the
SDK's, with the endings that Prometheus asks for.

Worth an alarm:

| condition | meaning |
|---|---|
| ` + "`max(omoi_relay_lag_seconds) > 60`" + ` | accepted work does not reach Temporal |
| ` + "`max by (provider) (omoi_sandboxes_unverified) > 10`" + ` | a provider does not get rid of sandboxes; new ones will wait |
| ` + "`time() - max(omoi_reaper_last_success_timestamp_seconds) > 300 and sum(max by (status) (omoi_tasks)) > 0`" + ` | the net under everything else does not run |
| ` + "`increase(omoi_relay_dropped_total[10m]) > 0`" + ` | something accepted was given up; the log has an alarm with the task |
| ` + "`increase(temporal_workflow_task_execution_failed_total[10m]) > 0`" + ` | workflow code fails, perhaps by changed determinism |
| ` + "`rate(omoi_task_completions_total{outcome=\"failed\"}[1h])`" + ` | compare by ` + "`failure_class`" + ` |

Traces: ` + "`trace.endpoint`" + ` (` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + `) sends spans over OTLP/HTTP. One trace goes from the request that made or
retried a task through the store to its workflow and activities, in whichever processes they run. Posts of events are
counted and not traced, signals are not traced. Spans carry route patterns, names, workflow ids and durations; no text,
path, query or message of an error. Without the setting nothing is traced and nothing is paid.
`
