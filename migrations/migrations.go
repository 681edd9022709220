// Package migrations embeds the database schema, one numbered file a step, each with its way back.
package migrations

import "embed"

// FS holds the migration files in goose's format.
//
//go:embed *.sql
var FS embed.FS
