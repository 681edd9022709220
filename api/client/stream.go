package client

import "time"

// StreamHello is the first frame of GET /api/v1/tasks/{id}/stream?state=true.
type StreamHello struct {
	ServerVersion string        `json:"server_version" doc:"Version of the server; another one than before means that omoi was updated."`
	SentAt        time.Time     `json:"sent_at" doc:"Time of the server."`
	Attempts      []AttemptHead `json:"attempts" nullable:"false" doc:"Attempts with events, oldest first."`
}

// AttemptHead says how many events an attempt has.
type AttemptHead struct {
	Attempt      int   `json:"attempt" doc:"Number of the attempt in the task."`
	LastSequence int64 `json:"last_sequence" doc:"Number of its newest stored event."`
}
