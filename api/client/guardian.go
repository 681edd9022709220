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

// GuardianAnalysis is one analysis of an attempt by the guardian.
type GuardianAnalysis = guardian.Analysis

// Intervention is a decision of the guardian about an attempt, with its outcome.
type Intervention = guardian.Intervention

// GuardianAction is an action of a user through the guardian routes.
type GuardianAction = guardian.Action

// CancelAction is the body of POST /api/v1/guardian/intervention/cancel-task. Unknown fields are ignored.
type CancelAction struct {
	TaskID string `json:"task_id" doc:"Task to fail, by ID or key. A task that has ended answers 409."`
	Authorship
}

// PriorityAction is the body of POST /api/v1/guardian/intervention/override-priority.
type PriorityAction struct {
	TaskID   string `json:"task_id" doc:"Task whose priority changes, by ID or key."`
	Priority string `json:"new_priority" doc:"CRITICAL, HIGH, MEDIUM or LOW, in upper or lower case."`
	Authorship
}

// ReallocateAction is the body of POST /api/v1/guardian/intervention/reallocate.
type ReallocateAction struct {
	From     string `json:"from_agent_id" doc:"Project that gives the slots: its ID or key, or that of a task, or the ID of a sandbox or an active agent in it."`
	To       string `json:"to_agent_id" doc:"Project that receives the slots: its ID or key, or that of a task, or the ID of a sandbox or an active agent in it."`
	Capacity int    `json:"capacity" minimum:"1" doc:"Number of slots to move, 1 to 10000."`
	Authorship
}

// Authorship holds the common fields of all guardian actions.
type Authorship struct {
	Reason    string `json:"reason" doc:"Why the action is needed, 1 to 2000 bytes; kept with the action."`
	By        string `json:"initiated_by,omitempty" doc:"Claimed author, up to 2000 bytes; kept in audit_log beside the authenticated caller. Default: none."`
	Authority *int   `json:"authority,omitempty" minimum:"1" maximum:"5" doc:"Requested authority level, capped at the level of the caller's scope (admin 4, write 3, read 2). Default: that level; below 4 answers 403."`
}

// RevertAction is the body of POST /api/v1/guardian/actions/{action_id}/revert.
type RevertAction struct {
	Reason string `json:"reason" doc:"Why the action is reverted, 1 to 2000 bytes; kept with the action."`
	By     string `json:"initiated_by,omitempty" doc:"Claimed author, up to 2000 bytes; kept in audit_log.revert_claimed_to_be beside reverted_by, the authenticated caller. Default: none."`
}

// RevertedAction is the result of a revert.
type RevertedAction struct {
	ActionID    string   `json:"action_id" doc:"UUID of the reverted action."`
	Reverted    bool     `json:"reverted" doc:"Always true. An unknown action, or one that was already reverted, answers 404."`
	Reason      string   `json:"reason" doc:"Reason given in the request."`
	RevertedBy  string   `json:"reverted_by" doc:"Authenticated caller of the revert."`
	Items       []string `json:"reverted_items" nullable:"false" doc:"Sentences that name what was reverted."`
	NotReverted []string `json:"not_reverted" nullable:"false" doc:"Sentences that name what could not be reverted, and why."`
}

// MonitorStatus is the response of GET /api/v1/monitor/intelligent/status.
type MonitorStatus struct {
	Running    bool            `json:"running" doc:"True if the guardian's schedule exists and is not paused."`
	PausedIdle bool            `json:"paused_idle" doc:"True if omoi paused the guardian's schedule because all tasks are final; the next task resumes the schedule."`
	CycleID    *string         `json:"current_cycle_id" doc:"Newest guardian cycle if that cycle has not ended. Null: none is running."`
	Config     MonitorConfig   `json:"config" doc:"Settings of guardian and conductor on this server."`
	Timing     MonitorTiming   `json:"timing" doc:"When the guardian ran and runs next."`
	Metrics    MonitorMetrics  `json:"metrics" doc:"Counts of guardian cycles and interventions."`
	Schedule   Schedule        `json:"schedule" doc:"The guardian's schedule in Temporal."`
	LastCycle  *guardian.Cycle `json:"last_cycle,omitempty" doc:"Newest guardian cycle, over all organizations. Absent before the first cycle, and without the scope admin."`
	Conductor  ConductorStatus `json:"conductor" doc:"How the conductor runs, with its newest analysis."`
}

// MonitorConfig holds the settings of guardian and conductor.
type MonitorConfig struct {
	Enabled            bool    `json:"enabled" doc:"Guardian and conductor are switched on (monitoring.enabled)."`
	GuardianInterval   float64 `json:"guardian_interval_seconds" doc:"Period of the guardian's schedule."`
	ConductorInterval  float64 `json:"conductor_interval_seconds" doc:"Period of the conductor's schedule."`
	AutoSteering       bool    `json:"auto_steering_enabled" doc:"Projects without their own setting are steered. False: shadow mode."`
	MaxAnalyses        int     `json:"max_concurrent_analyses" doc:"Limit of analyses by a model at the same time."`
	LLMAnalysis        bool    `json:"llm_analysis_enabled" doc:"A model is configured and takes part. False: rules alone analyze."`
	AnalysisCache      float64 `json:"analysis_cache_seconds" doc:"Minimum age of an analysis before the guardian makes the next one. 0: every cycle analyzes."`
	Cooldown           float64 `json:"cooldown_seconds" doc:"Minimum time between two interventions in one attempt."`
	InterventionsLimit int     `json:"max_interventions" doc:"Limit of interventions in one attempt."`
}

// MonitorTiming holds the times of the last and the next guardian cycle.
type MonitorTiming struct {
	LastRun    *time.Time `json:"last_run" doc:"When the guardian's schedule last started a cycle. Null: never."`
	LastRunAge *float64   `json:"last_run_age_seconds" doc:"Time since a guardian cycle last ended. Null: none has ended."`
	NextRun    *time.Time `json:"next_run" doc:"When the next guardian cycle is due. Null while the schedule is paused."`
}

// MonitorMetrics counts guardian cycles and interventions.
type MonitorMetrics struct {
	TotalCycles        int64   `json:"total_cycles" doc:"Number of guardian cycles of the last 14 days; older ones are removed."`
	SuccessfulCycles   int64   `json:"successful_cycles" doc:"Number of guardian cycles of the last 14 days that ended and analyzed every sandbox."`
	FailedCycles       int64   `json:"failed_cycles" doc:"Number of guardian cycles of the last 14 days with a failed analysis, or without an end after 10 minutes."`
	TotalInterventions int64   `json:"total_interventions" doc:"Number of interventions sent to agents of the caller's organization."`
	SuccessRate        float64 `json:"success_rate" doc:"successful_cycles divided by successful_cycles and failed_cycles together, 0 to 1. 0: no cycle yet."`
}

// MonitorHealth is the response of GET /api/v1/monitor/intelligent/health.
type MonitorHealth struct {
	ActiveAgents     int            `json:"active_agents" doc:"Number of active agents of the caller's organization."`
	Alignment        *float64       `json:"average_alignment" doc:"Mean alignment of the active agents, 0 to 1. Null: fewer than half of the agents without a rule finding have a score."`
	Analyzed         int            `json:"agents_analyzed" doc:"Number of active agents with an alignment score of the last 10 minutes."`
	NeedSteering     int            `json:"agents_need_steering" doc:"Number of active agents whose newest analysis has the verdict steer."`
	Unknown          int            `json:"agents_unknown" doc:"Number of active agents without an alignment score of the last 10 minutes."`
	Health           string         `json:"system_health" enum:"optimal,good,warning,critical,unknown,no_activity" doc:"Summary by mean alignment and share that needs steering; unknown: agents without a score could change the result. More values may be added."`
	Phases           map[string]int `json:"phase_distribution" nullable:"false" doc:"Number of active agents by phase_id of their task."`
	SteeringTypes    map[string]int `json:"steering_types" nullable:"false" doc:"Number of agents that need steering, by steering type."`
	RecentDuplicates int            `json:"recent_duplicates" doc:"Number of pairs of duplicate tasks that the conductor found in the last hour."`
	LastAnalysis     *time.Time     `json:"last_analysis" doc:"When the newest guardian analysis of an active agent was made. Null: none in the last 10 minutes."`
	ModelError       string         `json:"model_error,omitempty" doc:"Why the model failed in the newest analysis in which it did. Absent: the model failed in none."`

	Status          string   `json:"current_status" enum:"no_agents,critical,warning,inefficient,normal,optimal,unknown,not_run" doc:"system_status of the newest conductor analysis; not_run: there is none. More values may be added."`
	Coherence       *float64 `json:"current_coherence" doc:"coherence_score of the newest conductor analysis, 0 to 1. Null: too few agents are analyzed, or no analysis exists."`
	MeanCoherence   *float64 `json:"average_coherence_1h" doc:"Mean coherence_score of the last hour, 0 to 1. Null: no analysis in that hour has a score."`
	Recommendations []string `json:"recommendations" nullable:"false" doc:"Sentences for operators, from the newest conductor analysis."`
}

// AgentAnalysis is the response of POST /api/v1/monitor/intelligent/analyze/{agent_id}.
type AgentAnalysis struct {
	AgentID        string   `json:"agent_id" doc:"ID of the agent's sandbox."`
	TaskID         string   `json:"task_id" doc:"Task that the agent works on."`
	Phase          string   `json:"current_phase" doc:"phase_id of the task, for example PHASE_IMPLEMENTATION."`
	Aligned        *bool    `json:"trajectory_aligned" doc:"False if the agent needs steering. Null: there is no alignment score."`
	AlignmentScore *float64 `json:"alignment_score" doc:"How well the work serves its goal, 0 to 1. Null: neither a rule nor a model gave a score."`
	NeedsSteering  bool     `json:"needs_steering" doc:"True if the verdict is steer."`
	SteeringType   *string  `json:"steering_type" enum:"guidance,correction,emergency" doc:"Kind of steering that is advised, by the severity of the fault. Null unless needs_steering. More values may be added."`
	Recommendation *string  `json:"steering_recommendation" doc:"Message that would help the agent. Null unless needs_steering."`
	Summary        string   `json:"trajectory_summary" doc:"One or two sentences about what the agent has done."`
	CurrentFocus   string   `json:"current_focus" doc:"Short text: what the agent works on now."`
	Verdict        string   `json:"verdict" enum:"healthy,steer,unknown" doc:"Result: healthy (a model approves), steer (a fault was found), unknown (neither). More values may be added."`
	Source         string   `json:"source" enum:"rules,model,none" doc:"What gave the verdict: a rule, a model, or neither. More values may be added."`
	Confidence     float64  `json:"confidence" doc:"Confidence in the verdict, 0 to 1. 0 if neither a rule nor a model gave one."`
	Evidence       []int64  `json:"evidence" nullable:"false" doc:"Sequences of the events that support the verdict."`
	Length         int64    `json:"conversation_length" doc:"Number of events of the attempt."`

	Details   json.RawMessage `json:"details" doc:"Object with the whole analysis, as in analysis of GET /api/v1/guardian/analyses."`
	CreatedAt time.Time       `json:"created_at" doc:"When the guardian made the analysis."`
}

// EmergencyAnalysis is the response of POST /api/v1/monitor/intelligent/emergency.
type EmergencyAnalysis struct {
	Analyses []AgentAnalysis   `json:"analyses" nullable:"false" doc:"Analyses of the agents, in the order of the request and without those that failed."`
	Failed   map[string]string `json:"failed" nullable:"false" doc:"Error message by ID, for each ID that could not be analyzed."`
}

// SandboxesStatus is the response of GET /api/v1/sandboxes/monitoring/status.
type SandboxesStatus struct {
	Sandboxes []MonitoredSandbox `json:"sandboxes" nullable:"false" doc:"Active sandboxes of the caller's organization, oldest first."`
	Active    int                `json:"active_count" doc:"Number of sandboxes in the list."`
	Spec      int                `json:"spec_sandbox_count" doc:"Number of listed sandboxes that run a spec by phases."`
	Stuck     int                `json:"stuck_count" doc:"Number of listed sandboxes that are idle, or stuck between two phases of a spec."`
	Timestamp time.Time          `json:"timestamp" doc:"When the server answered."`
}

// MonitoredSandbox is an active sandbox with its activity.
type MonitoredSandbox struct {
	SandboxID string            `json:"sandbox_id" doc:"ID that omoi gave the sandbox."`
	Activity  Activity          `json:"activity" doc:"Last work and last heartbeat of the agent."`
	Phases    *spec.PhaseStatus `json:"phase_status,omitempty" doc:"Progress of a spec by phases. Absent for all other sandboxes."`
}

// GuardianFilter selects analyses or interventions.
type GuardianFilter struct {
	TaskID string // empty: all
	Limit  int    // 1..500; 0 is 100
}

func (f GuardianFilter) query() url.Values {
	return query("task_id", f.TaskID, "limit", positive(f.Limit))
}

// Judgements lists guardian analyses, newest first.
func (c *Client) Judgements(ctx context.Context, f GuardianFilter) (Page[GuardianAnalysis], error) {
	return answer[Page[GuardianAnalysis]](ctx, c, call{path: prefix + "/guardian/analyses", query: f.query()})
}

// Interventions lists interventions, newest first.
func (c *Client) Interventions(ctx context.Context, f GuardianFilter) (Page[Intervention], error) {
	return answer[Page[Intervention]](ctx, c, call{path: prefix + "/guardian/interventions", query: f.query()})
}

// Withdraw withdraws an intervention that the agent has not received yet.
func (c *Client) Withdraw(ctx context.Context, id string) (Intervention, error) {
	return answer[Intervention](ctx, c, call{
		method: http.MethodPost, path: item("guardian/interventions", id, "withdraw"),
	})
}

// MonitorStatus returns the state of the guardian.
func (c *Client) MonitorStatus(ctx context.Context) (MonitorStatus, error) {
	return answer[MonitorStatus](ctx, c, call{path: prefix + "/monitor/intelligent/status"})
}

// MonitorHealth returns a summary of the analyses of all active agents.
func (c *Client) MonitorHealth(ctx context.Context) (MonitorHealth, error) {
	return answer[MonitorHealth](ctx, c, call{path: prefix + "/monitor/intelligent/health"})
}

// Analyze analyzes an active agent now; id is that of its sandbox or task. Without force the server may return a recent
// analysis.
func (c *Client) Analyze(ctx context.Context, id string, force bool) (AgentAnalysis, error) {
	q := query("force", when(force, "true"))
	return answer[AgentAnalysis](ctx, c, call{
		method: http.MethodPost, path: item("monitor/intelligent/analyze", id), query: q,
	})
}

// AskSchedule runs, pauses or resumes a schedule; it requires the scope admin.
func (c *Client) AskSchedule(ctx context.Context, name, what, reason string) (Schedule, error) {
	return answer[Schedule](ctx, c, call{
		method: http.MethodPost, path: item("schedules", name, what), body: ReasonRequest{Reason: reason},
	})
}

// Diagnoses lists diagnoses, newest first.
func (c *Client) Diagnoses(ctx context.Context, f GuardianFilter) (Page[explain.Diagnosis], error) {
	return answer[Page[explain.Diagnosis]](ctx, c, call{path: prefix + "/diagnoses", query: f.query()})
}
