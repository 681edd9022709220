package omoios

import "context"

// others reports the rows of all other tables: omoi has no place for them.
func (r *run) others(ctx context.Context) error {
	reasons := map[string]string{
		"organization_memberships": "omoi has no roles: the scopes of an API key say what its user may do",
		"roles":                    "omoi has no roles: the scopes of an API key say what its user may do",
		"api_keys":                 "Keys are not imported. Next: omoi keys create",
		"sessions":                 "Logins are not imported",
		"cost_records":             "Costs are not imported: the events of the tasks have them",
		"subscriptions":            "Imported organizations have the plan unlimited. Next: omoi organization update",
		"alembic_version":          "The version of the schema of OmoiOS",
	}
	done := []string{"organizations", "users", "user_credentials", "projects", "tickets", "tasks", "claude_session_transcripts", "sandbox_events"}
	for _, table := range r.src.tables(done...) {
		rows, err := r.src.count(ctx, table, `"`+table+`"`)
		if err != nil {
			return err
		}
		if rows == 0 {
			continue
		}
		reason := reasons[table]
		if reason == "" {
			reason = "omoi has no place for this table"
		}
		r.report.Kinds = append(r.report.Kinds, &Kind{Table: table, Rows: rows, Skipped: rows, Reasons: []*Note{{Text: reason, Rows: rows}}})
	}
	return nil
}
