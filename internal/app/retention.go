package app

import (
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/retention"
)

// retentionRules are the settings by kind.
func retentionRules(cfg *config.Loaded) retention.Policy {
	r := cfg.Retention
	return retention.Policy{Ahead: cfg.Test.RetentionAhead, Keep: map[string]time.Duration{
		retention.Events: r.Events, retention.LargeFields: r.LargeFields, retention.Transcripts: r.Transcripts, retention.Patches: r.Patches,
		retention.BusRows: r.BusRows, retention.Branches: r.Branches, retention.Refs: r.Refs,
	}}
}

// retentionWords say in one line how long data of ended tasks is kept.
func retentionWords(r retention.Policy) string {
	parts := make([]string, 0, len(r.Keep))
	for _, kind := range retention.Kinds() {
		parts = append(parts, strings.ReplaceAll(kind, "_", " ")+" "+retention.KeepText(r.Keep[kind]))
	}
	return "retention after a task's end: " + strings.Join(parts, ", ") + " (docs/RETENTION.md; omoi storage)"
}
