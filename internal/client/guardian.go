package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/spec"
)

// GuardianAnalysis is what the guardian thought of an attempt.
type GuardianAnalysis = guardian.Analysis

// Intervention is what was decided about an attempt, and what became of it.
type Intervention = guardian.Intervention

// GuardianAction is what a person did by the guardian's routes.
type GuardianAction = guardian.Action

// CancelAction is the body of POST /api/v1/guardian/intervention/cancel-task. Unknown fields are ignored here.
type CancelAction struct {
	TaskID string `json:"task_id"`
	Authorship
}

// PriorityAction is the body of POST /api/v1/guardian/intervention/override-priority.
type PriorityAction struct {
	TaskID   string `json:"task_id"`
	Priority string `json:"new_priority" doc:"CRITICAL, HIGH, MEDIUM or LOW"`
	Authorship
}

// ReallocateAction is the body of POST /api/v1/guardian/intervention/reallocate.
type ReallocateAction struct {
	From     string `json:"from_agent_id" doc:"A project, or a task or sandbox in it"`
	To       string `json:"to_agent_id" doc:"Likewise"`
	Capacity int    `json:"capacity" minimum:"1" doc:"How many tasks at a time"`
	Authorship
}

// Authorship is what the bodies of the guardian's actions have in common.
type Authorship struct {
	Reason    string `json:"reason"`
	By        string `json:"initiated_by,omitempty" doc:"Noted beside who it was by his login"`
	Authority *int   `json:"authority,omitempty" minimum:"1" maximum:"5" doc:"May lower what the login gives, never raise it"`
}

// RevertAction is the body of POST /api/v1/guardian/actions/{action_id}/revert.
type RevertAction struct {
	Reason string `json:"reason"`
	By     string `json:"initiated_by,omitempty"`
}

// RevertedAction is its answer.
type RevertedAction struct {
	ActionID   string   `json:"action_id"`
	Reverted   bool     `json:"reverted"`
	Reason     string   `json:"reason"`
	RevertedBy string   `json:"reverted_by"`
	Undone     []string `json:"undone" nullable:"false"`
	NotUndone  []string `json:"not_undone" nullable:"false"` // what cannot be undone
}

// MonitorStatus is the answer of GET /api/v1/monitor/intelligent/status.
type MonitorStatus struct {
	Running   bool            `json:"running"` // the schedule is there and not paused
	Resting   bool            `json:"resting"` // paused, since nobody is at work
	CycleID   *string         `json:"current_cycle_id"`
	Config    MonitorConfig   `json:"config"`
	Timing    MonitorTiming   `json:"timing"`
	Metrics   MonitorMetrics  `json:"metrics"`
	Schedule  Schedule        `json:"schedule"`
	LastCycle *guardian.Cycle `json:"last_cycle,omitempty"` // absent: it never ran, or who asks is no admin
	Conductor ConductorStatus `json:"conductor"`
}

// MonitorConfig are the settings of the supervision.
type MonitorConfig struct {
	Enabled            bool    `json:"enabled"`
	GuardianInterval   float64 `json:"guardian_interval_seconds"`
	ConductorInterval  float64 `json:"conductor_interval_seconds"`
	AutoSteering       bool    `json:"auto_steering_enabled"` // of projects that do not say
	MaxAnalyses        int     `json:"max_concurrent_analyses"`
	LLMAnalysis        bool    `json:"llm_analysis_enabled"` // a model is asked
	AnalysisCache      float64 `json:"analysis_cache_seconds"`
	CoolDown           float64 `json:"cool_down_seconds"`
	InterventionsLimit int     `json:"max_interventions"`
}

// MonitorTiming says when the guardian ran and runs.
type MonitorTiming struct {
	LastRun    *time.Time `json:"last_run"`
	LastRunAge *float64   `json:"last_run_age_seconds"` // since a cycle came to its end; null: none did
	NextRun    *time.Time `json:"next_run"`
}

// MonitorMetrics counts what the guardian did.
type MonitorMetrics struct {
	TotalCycles        int64   `json:"total_cycles"`
	SuccessfulCycles   int64   `json:"successful_cycles"`
	FailedCycles       int64   `json:"failed_cycles"`
	TotalInterventions int64   `json:"total_interventions"`
	SuccessRate        float64 `json:"success_rate"` // 0 before the first cycle
}

// MonitorHealth is the answer of GET /api/v1/monitor/intelligent/health.
type MonitorHealth struct {
	ActiveAgents     int            `json:"active_agents"`
	Alignment        *float64       `json:"average_alignment"` // null: of too few it is known
	Judged           int            `json:"agents_judged"`
	NeedSteering     int            `json:"agents_need_steering"`
	Unknown          int            `json:"agents_unknown"` // whom nobody could judge, or has yet
	Health           string         `json:"system_health"`  // optimal, good, warning, critical, unknown, no_activity
	Phases           map[string]int `json:"phase_distribution" nullable:"false"`
	SteeringTypes    map[string]int `json:"steering_types" nullable:"false"`
	RecentDuplicates int            `json:"recent_duplicates"` // pairs that the conductor found in the last hour
	LastAnalysis     *time.Time     `json:"last_analysis"`
	Trouble          string         `json:"trouble,omitempty"` // why the model did not speak of the agent that was last judged without it

	Status          string   `json:"current_status"`       // the conductor's word of its newest analysis; not_run: there is none
	Coherence       *float64 `json:"current_coherence"`    // null: it cannot say
	MeanCoherence   *float64 `json:"average_coherence_1h"` // likewise
	Recommendations []string `json:"recommendations" nullable:"false"`
}

// AgentAnalysis is the answer of POST /api/v1/monitor/intelligent/analyze/{agent_id}.
type AgentAnalysis struct {
	AgentID        string   `json:"agent_id"` // the sandbox
	TaskID         string   `json:"task_id"`
	Phase          string   `json:"current_phase"`
	Aligned        *bool    `json:"trajectory_aligned"` // null: nobody can say
	AlignmentScore *float64 `json:"alignment_score"`
	NeedsSteering  bool     `json:"needs_steering"`
	SteeringType   *string  `json:"steering_type"`
	Recommendation *string  `json:"steering_recommendation"`
	Summary        string   `json:"trajectory_summary"`
	CurrentFocus   string   `json:"current_focus"`
	Verdict        string   `json:"verdict"`   // healthy, steer, unknown
	SpokenBy       string   `json:"spoken_by"` // rules, model, none
	Confidence     float64  `json:"confidence"`
	Evidence       []int64  `json:"evidence" nullable:"false"` // numbers of events
	Length         int64    `json:"conversation_length"`       // events

	Details   json.RawMessage `json:"details"` // the analysis as it is stored
	CreatedAt time.Time       `json:"created_at"`
}

// EmergencyAnalysis is the answer of POST /api/v1/monitor/intelligent/emergency.
type EmergencyAnalysis struct {
	Analyses []AgentAnalysis   `json:"analyses" nullable:"false"`
	Failed   map[string]string `json:"failed" nullable:"false"` // id: why
}

// SandboxesStatus is the answer of GET /api/v1/sandboxes/monitoring/status.
type SandboxesStatus struct {
	Sandboxes []MonitoredSandbox `json:"sandboxes" nullable:"false"`
	Active    int                `json:"active_count"`
	Spec      int                `json:"spec_sandbox_count"`
	Stuck     int                `json:"stuck_count"`
	Timestamp time.Time          `json:"timestamp"`
}

// MonitoredSandbox is one of them.
type MonitoredSandbox struct {
	SandboxID string            `json:"sandbox_id"`
	Activity  Activity          `json:"activity"`
	Phases    *spec.PhaseStatus `json:"phase_status,omitempty"`
}

// GuardianFilter selects judgements or interventions.
type GuardianFilter struct {
	TaskID string // empty: all
	Limit  int    // 1..500; 0 is 100
}

func (f GuardianFilter) query() url.Values {
	return query("task_id", f.TaskID, "limit", positive(f.Limit))
}

// Judgements lists what the guardian thought, newest first.
func (c *Client) Judgements(ctx context.Context, f GuardianFilter) (Page[GuardianAnalysis], error) {
	return answer[Page[GuardianAnalysis]](ctx, c, call{path: prefix + "/guardian/analyses", query: f.query()})
}

// Interventions lists what was decided about attempts, newest first.
func (c *Client) Interventions(ctx context.Context, f GuardianFilter) (Page[Intervention], error) {
	return answer[Page[Intervention]](ctx, c, call{path: prefix + "/guardian/interventions", query: f.query()})
}

// Withdraw takes an intervention back that the agent has not been given yet.
func (c *Client) Withdraw(ctx context.Context, id string) (Intervention, error) {
	return answer[Intervention](ctx, c, call{
		method: http.MethodPost, path: item("guardian/interventions", id, "withdraw"),
	})
}

// MonitorStatus returns how the guardian runs.
func (c *Client) MonitorStatus(ctx context.Context) (MonitorStatus, error) {
	return answer[MonitorStatus](ctx, c, call{path: prefix + "/monitor/intelligent/status"})
}

// MonitorHealth returns how the agents at work are thought of.
func (c *Client) MonitorHealth(ctx context.Context) (MonitorHealth, error) {
	return answer[MonitorHealth](ctx, c, call{path: prefix + "/monitor/intelligent/health"})
}

// Analyze judges an agent at work now; id is that of its sandbox or task. Without force a
// judgement that still stands is answered.
func (c *Client) Analyze(ctx context.Context, id string, force bool) (AgentAnalysis, error) {
	q := query("force", when(force, "true"))
	return answer[AgentAnalysis](ctx, c, call{
		method: http.MethodPost, path: item("monitor/intelligent/analyze", id), query: q,
	})
}

// AskSchedule runs, pauses or resumes a schedule; it needs the scope admin.
func (c *Client) AskSchedule(ctx context.Context, name, what, reason string) (Schedule, error) {
	return answer[Schedule](ctx, c, call{
		method: http.MethodPost, path: item("schedules", name, what), body: ReasonRequest{Reason: reason},
	})
}

// Diagnoses lists them, newest first.
func (c *Client) Diagnoses(ctx context.Context, f GuardianFilter) (Page[explain.Diagnosis], error) {
	return answer[Page[explain.Diagnosis]](ctx, c, call{path: prefix + "/diagnoses", query: f.query()})
}
