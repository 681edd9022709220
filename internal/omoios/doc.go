// Package omoios imports the database of an OmoiOS installation into that of omoi: organizations, users, credentials,
// projects, tickets, tasks, transcripts and events. It reads the source in one read-only snapshot, and reports for each
// table how many rows it imported, found imported, and skipped with the reason.
//
// Rows keep their IDs, by which a repeated run finds what an earlier one imported.
package omoios
