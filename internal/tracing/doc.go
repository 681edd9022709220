// Package tracing sends traces to a collector of OpenTelemetry: one trace goes from the
// request that made a task through the store and the relay to its workflow and activities.
// Spans carry names, ids, durations and whether something failed. Texts, queries and
// messages of errors stay out of them.
package tracing
