package client

import (
	"time"

	"github.com/omoi-dev/omoi/internal/spec"
)

// Integrity shows whether the events of a sandbox are 1..head, each once.
type Integrity struct {
	SandboxID string `json:"sandbox_id"`
	Head      int64  `json:"head"`                       // newest number
	Stored    int64  `json:"stored"`                     // rows
	Gapless   bool   `json:"gapless"`                    // 1..head are stored, each once, and nothing else
	Gaps      []Gap  `json:"gaps"      nullable:"false"` // at most 100
	Refused   int64  `json:"duplicates_refused"`
	Relayed   int64  `json:"relayed"` // 1..relayed are told to the workflow
	// Spools are the numbered senders, the first one first.
	Spools []SpoolWatermark `json:"spools" nullable:"false"`
}

// Gap is a stretch of missing numbers, both ends included.
type Gap struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// SpoolWatermark says that the numbers 1..Acknowledged of a sender are stored.
type SpoolWatermark struct {
	SpoolID      string `json:"spool_id"`
	Acknowledged int64  `json:"acknowledged"`
}

// EventCounts are the events of a sandbox by type.
type EventCounts struct {
	SandboxID  string           `json:"sandbox_id"`
	Total      int64            `json:"total"`
	Heartbeats int64            `json:"heartbeats"`
	Types      map[string]int64 `json:"types" nullable:"false"` // heartbeats too
}

// Activity is what is known of the life in a sandbox.
type Activity struct {
	SandboxID       string     `json:"sandbox_id"`
	LastWorkAt      *time.Time `json:"last_work_at"`
	LastHeartbeatAt *time.Time `json:"last_heartbeat_at"`
	HeartbeatStatus *string    `json:"heartbeat_status"`
	HasCompleted    bool       `json:"has_completed"` // the agent completed and did nothing after it
	IsAlive         bool       `json:"is_alive"`      // a heartbeat within two minutes
	IsIdle          bool       `json:"is_idle"`
	IsStuck         bool       `json:"is_stuck_running"`
	IdleSeconds     float64    `json:"idle_duration_seconds"` // since the last work
}

// Life is what is known of an active sandbox: of the life in it, and of a run by phases.
type Life struct {
	Activity Activity
	Phases   spec.PhaseStatus
}
