// Package migrations embeds the database schema: a baseline, then one numbered file a step, each with its way back.
// A new step gets the next number. Lower numbers than that of the baseline belong to older builds, whose databases are refused.
package migrations

import "embed"

// FS holds the migration files in goose's format.
//
//go:embed *.sql
var FS embed.FS
