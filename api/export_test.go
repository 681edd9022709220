package api

import "github.com/omoi-dev/omoi/internal/postgres"

// PortsOf returns the ports of one store. The ports of a nil store are never called.
func PortsOf(s *postgres.Store) Ports {
	return Ports{
		Tasks: s, SavedWork: s, Commands: s, FollowUps: s, Dependencies: s, Projects: s, Dispatch: s, Organizations: s,
		Budgets: s, Contracts: s, Questions: s, Figures: s, Tickets: s, Comparisons: s, Sandboxes: s, Identities: s, References: s, Hosts: s, Keys: s, EventLog: s, Readers: s, Outlines: s,
		Messages: s, Feedback: s, Transcripts: s, Checkpoints: s, Bulletin: s, Storage: s, Receipts: s, Visits: s, Logs: s,
		Guardian: s, Actions: s, Monitored: s, Explaining: s, Conducting: s, Notices: s,
	}
}
