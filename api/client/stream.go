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

// TasksHello is the first frame of GET /api/v1/tasks/stream.
type TasksHello struct {
	ServerVersion string    `json:"server_version" doc:"Version of the server; another one than before means that omoi was updated."`
	SentAt        time.Time `json:"sent_at" doc:"Time of the server."`
}

// ChangedTask is a frame task of GET /api/v1/tasks/stream.
type ChangedTask struct {
	Version int64 `json:"version" doc:"When the server read the task. Within one stream a higher version is newer."`
	Task    Task  `json:"task" doc:"The task after the change, as lists show it: without attempts, with a shortened result."`
}
