package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/task"
)

// Monitored reads the active agents and their analyses.
type Monitored interface {
	Active(ctx context.Context, organizationID string) ([]guardian.ActiveSandbox, error)
	ActiveLife(ctx context.Context, organizationID string) ([]client.Life, error)
	// Resolve returns the active sandbox of an ID, which may be that of a sandbox, an agent or a task.
	Resolve(ctx context.Context, organizationID, id string) (string, error)
	NewestJudgements(ctx context.Context, sandboxIDs []string, fresh time.Duration) ([]guardian.Analysis, error)
	Cycles(ctx context.Context) (guardian.Cycles, error)
	Steered(ctx context.Context, organizationID string) (int64, error)
}

// Judge analyzes active agents.
type Judge interface {
	JudgeNow(ctx context.Context, sandboxID string, force bool) (guardian.Analysis, error)
}

// Schedules reads and changes Temporal schedules.
type Schedules interface {
	Schedule(ctx context.Context, id string) (client.Schedule, error)
	TriggerSchedule(ctx context.Context, id string) error
	HoldSchedule(ctx context.Context, id, note string) error
	ResumeSchedule(ctx context.Context, id, note string) error
}

func (a *API) registerMonitor() {
	monitor := a.group(tagGuardian, "/api/v1/monitor/intelligent")
	schedules := a.group(tagGuardian, "/api/v1/schedules/{name}")
	sandboxes := a.group(tagGuardian, "/api/v1/sandboxes/monitoring")
	add(monitor.on(accessRead, "GET /status", "monitor-status", "Get monitoring status"), a.monitorStatus,
		details{more: "Legacy route. How guardian and conductor run: schedules, settings, counts of cycles."})
	add(monitor.on(accessRead, "GET /health", "monitor-health", "Get monitoring health"), a.monitorHealth,
		details{more: "Legacy route. Summary of the newest analyses of the active agents of the caller's organization."})
	add(monitor.on(accessWrite, "POST /analyze/{agent_id}", "analyze-agent", "Analyze an agent"), a.analyze,
		details{
			more: "Legacy route. Analyzes an active agent now. Without force, an analysis younger than analysis_cache_seconds is " +
				"returned instead. An intervention that follows is executed, unless the project is in shadow mode.",
		})
	add(monitor.on(accessWrite, "POST /emergency", "analyze-agents", "Analyze several agents"), a.emergency,
		details{
			more: "Legacy route. Analyzes active agents now, as with force. The body is a list of up to 50 IDs of sandboxes, " +
				"agents or tasks.",
		})
	add(sandboxes.on(accessRead, "GET /status", "sandboxes-status", "List active sandboxes"), a.sandboxesStatus,
		details{more: "Legacy route. Active sandboxes of the caller's organization, with the activity of their agents."})
	add(schedules.on(accessRead, "GET", "get-schedule", "Get a schedule"), a.getSchedule,
		details{more: "Current state of a schedule in Temporal. A schedule that no worker has created answers exists: false."})
	for what, texts := range map[string][2]string{
		"run":    {"Trigger a schedule", "Starts a run now, or after the run in progress; also while the schedule is paused."},
		"pause":  {"Pause a schedule", "The schedule starts no runs until a user resumes it. A run in progress continues."},
		"resume": {"Resume a schedule", "Ends a pause, whether a user or omoi paused the schedule."},
	} {
		add(schedules.on(accessAdmin, "POST /"+what, what+"-schedule", texts[0]), a.askSchedule(what), details{more: texts[1]})
	}
}

func (a *API) monitorStatus(ctx context.Context, _ *struct{}) (*bodyOut[client.MonitorStatus], error) {
	found, err := a.scheduleOf(ctx, scheduleGuardian)
	if err != nil {
		return nil, err
	}
	cycles, err := a.deps.Monitored.Cycles(ctx)
	if err != nil {
		return nil, err
	}
	steered, err := a.deps.Monitored.Steered(ctx, callerOf(ctx).organization)
	if err != nil {
		return nil, err
	}
	s := client.MonitorStatus{
		Running: found.Exists && !found.Paused, PausedIdle: found.PausedIdle,
		Config: a.cfg.Monitoring,
		Timing: client.MonitorTiming{LastRun: found.LastRun, NextRun: found.NextRun},
		Metrics: client.MonitorMetrics{
			TotalCycles: cycles.Total, SuccessfulCycles: cycles.Succeeded, FailedCycles: cycles.Failed,
			TotalInterventions: steered,
		},
		Schedule: found, LastCycle: cycles.Last,
	}
	if s.Conductor, err = a.conductorStatus(ctx); err != nil {
		return nil, err
	}
	if ended := cycles.Succeeded + cycles.Failed; ended > 0 {
		s.Metrics.SuccessRate = float64(cycles.Succeeded) / float64(ended)
	}
	if age := cycles.LastAge.Seconds(); age >= 0 {
		s.Timing.LastRunAge = &age
	}
	if cycles.Last != nil && cycles.Last.EndedAt == nil {
		s.CycleID = &cycles.Last.ID
	}
	if enough(callerOf(ctx), accessAdmin) != nil { // it counts the agents of all organizations
		s.LastCycle = nil
	}
	return body(s, nil)
}

// freshJudgement is the maximum age of an analysis that counts.
const freshJudgement = 10 * time.Minute

func (a *API) monitorHealth(ctx context.Context, _ *struct{}) (*bodyOut[client.MonitorHealth], error) {
	active, err := a.deps.Monitored.Active(ctx, callerOf(ctx).organization)
	if err != nil {
		return nil, err
	}
	h := client.MonitorHealth{ActiveAgents: len(active), Phases: map[string]int{}, SteeringTypes: map[string]int{}}
	ids := make([]string, 0, len(active))
	for _, box := range active {
		ids = append(ids, box.ID)
		h.Phases[box.PhaseID]++
	}
	judged, err := a.deps.Monitored.NewestJudgements(ctx, ids, freshJudgement)
	if err != nil {
		return nil, err
	}
	sumUp(&h, judged)
	err = a.together(ctx, &h)
	return body(h, err)
}

// share is the number of some agents and the sum of their alignment scores.
type share struct{ n, sum float64 }

// sumUp summarizes the analyses of a fleet. Rules analyze every agent and report faults only, so an analysis by rules
// counts for its own agent. The other analyses count for all remaining agents, if they cover at least half of them.
func sumUp(h *client.MonitorHealth, judged []guardian.Analysis) {
	var caught, others share
	h.ModelError = newestModelError(judged)
	for _, j := range judged {
		side := &others
		if j.SpokenBy == "rules" {
			side = &caught
		}
		if j.AlignmentScore != nil {
			side.n, side.sum = side.n+1, side.sum+*j.AlignmentScore
		}
		if j.NeedsSteering {
			h.NeedSteering++
			h.SteeringTypes[j.SteeringType]++
		}
		if h.LastAnalysis == nil || j.JudgedAt.After(*h.LastAnalysis) {
			h.LastAnalysis = &j.JudgedAt
		}
	}
	h.Analyzed = int(caught.n + others.n)
	h.Unknown = h.ActiveAgents - h.Analyzed
	h.Alignment = meanOf(caught, others, float64(h.ActiveAgents)-caught.n)
	h.Health = healthWord(h, caught.sum+others.sum)
}

// newestModelError returns the model's error in the newest analysis in which the model failed.
func newestModelError(judged []guardian.Analysis) string {
	var newest time.Time
	found := ""
	for _, j := range judged {
		if said := j.ModelError(); said != "" && j.JudgedAt.After(newest) {
			newest, found = j.JudgedAt, said
		}
	}
	return found
}

// meanOf returns the mean alignment, or nil if too little is known. free is the number of agents that no rule matched.
func meanOf(caught, others share, free float64) *float64 {
	if caught.n+others.n == 0 || others.n < free/2 {
		return nil
	}
	mean := caught.sum
	if others.n > 0 {
		mean += others.sum / others.n * free
	}
	mean /= caught.n + free
	return &mean
}

// healthWord returns a health value that the agents without an analysis could not change, or else "unknown".
func healthWord(h *client.MonitorHealth, sum float64) string {
	if h.ActiveAgents == 0 {
		return "no_activity"
	}
	all, steer, unknown := float64(h.ActiveAgents), float64(h.NeedSteering), float64(h.Unknown)
	best, worst := healthOf((sum+unknown)/all, steer/all), healthOf(sum/all, (steer+unknown)/all)
	switch {
	case best == healthWarning, best == healthCritical:
		return best
	case worst == healthWarning, worst == healthCritical:
		return "unknown"
	}
	return worst
}

// Health values that report a problem.
const (
	healthWarning  = "warning"
	healthCritical = "critical"
)

// healthOf returns the legacy health value of a mean alignment and a share of agents that need steering.
func healthOf(mean, steer float64) string {
	switch {
	case mean > 0.8 && steer == 0:
		return "optimal"
	case mean > 0.6 && steer < 0.3:
		return "good"
	case mean > 0.4:
		return healthWarning
	}
	return healthCritical
}

type analyzeIn struct {
	AgentID string `path:"agent_id" minLength:"1" maxLength:"100" doc:"ID of an active sandbox, or ID or key of a task, or ID of an agent that has one"`
	Force   bool   `query:"force" doc:"Analyze also if the last analysis is younger than analysis_cache_seconds"`
}

func (a *API) analyze(ctx context.Context, in *analyzeIn) (*bodyOut[client.AgentAnalysis], error) {
	return body(a.judge(ctx, in.AgentID, in.Force))
}

func (a *API) judge(ctx context.Context, id string, force bool) (client.AgentAnalysis, error) {
	id, err := a.agentOrKey(ctx, id, task.KeyedTask)
	if err != nil {
		return client.AgentAnalysis{}, err
	}
	box, err := a.deps.Monitored.Resolve(ctx, callerOf(ctx).organization, id)
	if err != nil {
		return client.AgentAnalysis{}, err
	}
	j, err := a.deps.Judge.JudgeNow(ctx, box, force)
	return analysisOf(j), err
}

// analysisOf converts an analysis to the form of the legacy API.
func analysisOf(j guardian.Analysis) client.AgentAnalysis {
	var said struct {
		Recommendation string  `json:"recommendation"`
		Summary        string  `json:"summary"`
		Evidence       []int64 `json:"evidence"`
		Context        struct {
			Phase  string `json:"phase"`
			Events int64  `json:"events"`
		} `json:"context"`
	}
	_ = json.Unmarshal(j.Analysis, &said) // written by omoi; missing fields stay empty
	out := client.AgentAnalysis{
		AgentID: j.SandboxID, TaskID: j.TaskID, Phase: said.Context.Phase, AlignmentScore: j.AlignmentScore,
		NeedsSteering: j.NeedsSteering,
		Summary:       said.Summary, CurrentFocus: j.CurrentFocus, Verdict: j.Verdict, Source: j.SpokenBy,
		Confidence: j.Confidence,
		Evidence:   append([]int64{}, said.Evidence...), Length: said.Context.Events, Details: orObject(j.Analysis),
		CreatedAt: j.JudgedAt,
	}
	if j.AlignmentScore != nil {
		aligned := !j.NeedsSteering
		out.Aligned = &aligned
	}
	if j.NeedsSteering {
		out.SteeringType, out.Recommendation = &j.SteeringType, &said.Recommendation
	}
	return out
}
