package app

import (
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/task"
)

// retentionRules are the settings by kind.
func retentionRules(cfg *config.Loaded) task.Retention {
	r := cfg.Retention
	return task.Retention{Ahead: cfg.Test.RetentionAhead, Keep: map[string]time.Duration{
		task.RetainEvents: r.Events, task.RetainLargeFields: r.LargeFields, task.RetainTranscripts: r.Transcripts, task.RetainPatches: r.Patches,
		task.RetainBusRows: r.BusRows, task.RetainBranches: r.Branches, task.RetainRefs: r.Refs,
	}}
}

// retentionWords say in one line how long data of ended tasks is kept.
func retentionWords(r task.Retention) string {
	parts := make([]string, 0, len(r.Keep))
	for _, kind := range task.RetentionKinds() {
		parts = append(parts, strings.ReplaceAll(kind, "_", " ")+" "+task.KeepWords(r.Keep[kind]))
	}
	return "retention after a task's end: " + strings.Join(parts, ", ") + " (docs/RETENTION.md; omoi storage)"
}
