// Package migrations embeds the database schema: a baseline of two files, then one numbered file per step. Steps have no way
// back. A new step gets the next number; existing files stay as they are (FROZEN).
package migrations

import "embed"

// FS holds the migration files in goose's format.
//
//go:embed *.sql
var FS embed.FS
