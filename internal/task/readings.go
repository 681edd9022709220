package task

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// FileEdit is one reported change of a file.
type FileEdit struct {
	EventID      string    `json:"event_id"`
	Sequence     int64     `json:"sequence"`
	ChangeType   string    `json:"change_type"` // created, modified, deleted or renamed, as reported
	OldPath      string    `json:"old_path,omitempty" doc:"What a file that was renamed was called before"`
	LinesAdded   int64     `json:"lines_added"`
	LinesRemoved int64     `json:"lines_removed"`
	Diff         string    `json:"diff"`     // unified; empty if none was reported
	Complete     bool      `json:"complete"` // false: the diff is a preview
	CreatedAt    time.Time `json:"created_at"`
}

// ChangedFile is a file with its changes, oldest first.
type ChangedFile struct {
	Path         string     `json:"path"`
	LinesAdded   int64      `json:"lines_added"` // sum of the edits shown
	LinesRemoved int64      `json:"lines_removed"`
	Edits        []FileEdit `json:"edits" nullable:"false"`
}

// ChangedFiles is a stretch of a sandbox's file changes; files in the order of their first change in it.
type ChangedFiles struct {
	SandboxID string        `json:"sandbox_id"`
	Files     []ChangedFile `json:"files" nullable:"false"`
	// Next is the event number to go on after; null at the end.
	Next *int64 `json:"next"`
}

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
	Spools []SpoolMark `json:"spools" nullable:"false"`
}

// Gap is a stretch of missing numbers, both ends included.
type Gap struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// SpoolMark says that the numbers 1..Acknowledged of a sender are stored.
type SpoolMark struct {
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

// Transcript is the session transcript of an agent's run.
type Transcript struct {
	SandboxID string          `json:"sandbox_id"`
	SessionID string          `json:"session_id"`
	Content   string          `json:"transcript_b64"`
	Metadata  json.RawMessage `json:"metadata"`
	UpdatedAt time.Time       `json:"updated_at"`
}

// PhaseStatus is how far a run by phases has come. Sandboxes without one have the empty form.
type PhaseStatus struct {
	SandboxID       string     `json:"sandbox_id"`
	IsSpec          bool       `json:"is_spec_sandbox"`
	Completed       []string   `json:"phases_completed"        nullable:"false"`
	Started         []string   `json:"phases_started"          nullable:"false"`
	LastCompleted   *string    `json:"last_phase_completed"`
	LastCompletedAt *time.Time `json:"last_phase_completed_at"`
	NextExpected    *string    `json:"next_expected_phase"`
	Stuck           bool       `json:"is_stuck_between_phases"`
	StuckSeconds    float64    `json:"stuck_duration_seconds"`
	HasCompleted    bool       `json:"has_execution_completed"`
	HasFailed       bool       `json:"has_execution_failed"`
	Spec            *SpecState `json:"spec,omitempty"` // absent without a run by phases
}

// SpecState is what a run by phases has made of its spec.
type SpecState struct {
	SpecID       string `json:"spec_id"`
	Status       string `json:"status"` // executing, completed, failed
	CurrentPhase string `json:"current_phase"`
	Progress     int    `json:"progress"` // percent
	CriteriaMet  int    `json:"criteria_met"`
}

// SpecProgress is what the events of a run by phases said of it.
type SpecProgress struct {
	State            SpecState
	Started          map[string]time.Time // phase: when it first did
	Completed        map[string]time.Time
	LastCompleted    string // empty: none
	LastCompletedAt  time.Time
	Executed, Failed bool
}

// PhaseStuck is how long after a phase the next one may begin.
const PhaseStuck = 5 * time.Minute

// Phases are those of a run by phases, in their order.
func Phases() []string {
	return []string{"explore", "prd", "requirements", "design", "tasks", "sync"}
}

// PhaseBegins is the progress, in percent, with which a phase begins.
func PhaseBegins(phase string) int {
	const each = 16
	return max(slices.Index(Phases(), phase), 0) * each
}

// ReadPhases makes the status of a run's progress as of now; nil: there is none.
func ReadPhases(sandboxID string, p *SpecProgress, now time.Time) PhaseStatus {
	s := PhaseStatus{SandboxID: sandboxID, IsSpec: p != nil || strings.HasPrefix(sandboxID, "spec-"), Completed: []string{}, Started: []string{}}
	if p == nil {
		return s
	}
	s.Spec, s.HasCompleted, s.HasFailed = &p.State, p.Executed, p.Failed
	for _, phase := range Phases() {
		if _, ok := p.Started[phase]; ok {
			s.Started = append(s.Started, phase)
		}
		if _, ok := p.Completed[phase]; ok {
			s.Completed = append(s.Completed, phase)
		}
	}
	if p.LastCompleted == "" {
		return s
	}
	s.LastCompleted, s.LastCompletedAt = &p.LastCompleted, &p.LastCompletedAt
	next := phaseAfter(p.LastCompleted)
	if next == "" || s.HasCompleted || s.HasFailed {
		return s
	}
	s.NextExpected = &next
	if waited := now.Sub(p.LastCompletedAt); waited > PhaseStuck && !slices.Contains(s.Started, next) {
		s.Stuck, s.StuckSeconds = true, waited.Seconds()
	}
	return s
}

// phaseAfter is the phase that follows; empty after the last and for unknown ones.
func phaseAfter(phase string) string {
	order := Phases()
	if at := slices.Index(order, phase); at >= 0 && at+1 < len(order) {
		return order[at+1]
	}
	return ""
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
	Phases   PhaseStatus
}
