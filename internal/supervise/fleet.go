package supervise

import (
	"fmt"
	"slices"
)

// Agent is one active agent with the result of its latest guardian analysis.
type Agent struct {
	TaskID, ProjectID, Phase string
	// Known is true if the agent has a recent verdict other than unknown. If false, Caught to Ended have no meaning.
	Known          bool
	Caught         bool    // the verdict is from a rule; rules report faults only
	Score          float64 // alignment, 0 to 1
	Aligned, Steer bool
	Ended          bool     // the work is done while the sandbox still runs
	Focus          string   // current focus
	Files          []string // files that the agent changed

	Comparison string // ticket whose tasks do the same work, so that users can compare; empty: none

	Key     string // of the task
	Attempt int
	Edits   map[string]int64 // newest event that reports a change, by file
	Outside []Finding        // work outside of what the task allows
	Waits   []Dependency     // tasks that must be completed first, and are not
	Silent  string           // why Known is false, for example UnknownNoModel
}

// Compared reports that two agents do the same work on purpose.
func (a *Agent) Compared(b *Agent) bool { return a.Comparison != "" && a.Comparison == b.Comparison }

// Fleet is the conductor's summary of all active agents of an organization.
type Fleet struct {
	Coherence       *float64       `json:"coherence_score" doc:"How well the agents serve their goals together, 0 to 1. Null: too few agents have a guardian analysis."`
	AtLeast         float64        `json:"coherence_at_least" doc:"The score if every agent without an analysis did worst, 0 to 1."`
	AtMost          float64        `json:"coherence_at_most" doc:"The score if every agent without an analysis did perfectly, 0 to 1."`
	Status          string         `json:"system_status" doc:"Summary of the scores, as system_status of the conductor analysis."`
	Agents          int            `json:"num_agents" doc:"Number of active agents of the organization."`
	Judged          int            `json:"judged" doc:"Number of these agents whose recent guardian analysis has a verdict other than unknown."`
	Unknown         int            `json:"unknown" doc:"Number of agents without such a verdict."`
	Steering        int            `json:"agents_need_steering" doc:"Number of agents whose verdict is steer."`
	Duplicates      int            `json:"duplicate_count" doc:"Number of pairs of active tasks about the same work."`
	DuplicatesBy    string         `json:"duplicates_by" doc:"How duplicates were found: text (equal and nearly equal texts only, no model is configured) or model (which compares each new task with the open titles)."`
	Ended           int            `json:"termination_count" doc:"Number of agents whose work is done while their sandbox still runs."`
	Coordination    int            `json:"coordination_count" doc:"Number of files that several agents of a project change at the same time."`
	Phases          map[string]int `json:"phase_distribution" doc:"Number of active agents by phase_id."`
	Projects        map[string]int `json:"project_distribution" doc:"Number of active agents by UUID of the project."`
	Load            float64        `json:"load_balance" doc:"How evenly the agents are spread over the phases, 0 to 1; 1: evenly."`
	Conflicts       []Conflict     `json:"conflicts" doc:"Facts that speak against coherence, with evidence; the first 50. No model is needed."`
	Conflicting     int            `json:"agents_in_conflict" doc:"Number of active agents that take part in a conflict."`
	UnknownReasons  map[string]int `json:"unknown_reasons" doc:"Number of agents of unknown by reason: no_model, model_failed, not_sure or not_analyzed."`
	Recommendations []string       `json:"recommendations" doc:"Sentences for operators, most important first."`
}

// Statuses of a fleet, as in OmoiOS, plus unknown.
const (
	FleetNoAgents    = "no_agents"
	FleetCritical    = "critical"
	FleetWarning     = "warning"
	FleetInefficient = "inefficient" // many agents do the same work
	FleetOptimal     = "optimal"
	FleetNormal      = "normal"
	FleetUnknown     = "unknown" // too few agents have an analysis
)

// Weights of the coherence score and thresholds of the statuses, as in OmoiOS.
const (
	weightUnaligned = 0.2
	weightSteering  = 0.3
	weightPhases    = 0.1
	weightLoad      = 0.1
	critical        = 0.3
	warning         = 0.5
	optimal         = 0.8
	manyDuplicates  = 0.3
	crowdedPhase    = 0.6
	// enough is the share of agents that need a model analysis for a coherence score, among agents without a finding of
	// a rule. OmoiOS has no such threshold.
	enough = 0.5
)

// Conduct summarizes the agents of an organization. The links are the duplicates, as indexes into agents.
//
// The coherence score is the formula of OmoiOS: the mean alignment, minus 0.2 times the share of unaligned agents,
// minus 0.3 times the share that needs steering, plus 0.1 times the number of phases divided by the number of agents,
// plus 0.1 times the evenness over the phases, limited to 0..1.
//
// The score differs from OmoiOS in three points. First, the agents are the active sandboxes: OmoiOS counted agents by a
// heartbeat that sandboxes never sent, so its score was always 1. Second, agents without an analysis count like the
// analyzed agents without a finding of a rule; if fewer than half of these agents are analyzed, there is no score,
// because the faulty agents alone would decide it. Third, the statuses critical and optimal need a score that the
// unknown agents could not change.
func Conduct(agents []Agent, links []Link) Fleet {
	f := Fleet{Agents: len(agents), Duplicates: len(links), Phases: map[string]int{}, Projects: map[string]int{}, Recommendations: []string{}}
	for _, a := range agents {
		f.Phases[a.Phase]++
		f.Projects[a.ProjectID]++
		f.Judged += count(a.Known)
		f.Steering += count(a.Known && a.Steer)
		f.Ended += count(a.Known && a.Ended)
	}
	all := conflictsOf(agents)
	f.Conflicts, f.Conflicting = firstOf(all), inConflict(agents, all)
	f.Coordination, f.Load = countKind(all, ConflictFile), evenness(f.Phases)
	f.Unknown, f.UnknownReasons = f.Agents-f.Judged, whyUnknown(agents)
	f.cohere(agents)
	again := map[int]bool{}
	for _, l := range links {
		again[l.B] = true
	}
	f.Status = f.status(len(again))
	f.recommend(agents, links)
	return f
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// tally holds weighted sums over agents.
type tally struct{ n, score, unaligned, steering float64 }

func (t *tally) add(a Agent, weight float64) {
	t.n += weight
	t.score += a.Score * weight
	t.unaligned += float64(count(!a.Aligned)) * weight
	t.steering += float64(count(a.Steer)) * weight
}

// cohere sets the coherence score and its bounds.
func (f *Fleet) cohere(agents []Agent) {
	var caught, others tally // among the analyzed agents
	for _, a := range agents {
		switch {
		case a.Known && a.Caught:
			caught.add(a, 1)
		case a.Known:
			others.add(a, 1)
		}
	}
	f.AtLeast = f.coherence(caught, others, Agent{Steer: true})
	f.AtMost = f.coherence(caught, others, Agent{Score: 1, Aligned: true})
	free := float64(f.Agents) - caught.n // agents without a finding of a rule
	if f.Agents == 0 || others.n < enough*free {
		return
	}
	if others.n > 0 {
		more := free / others.n
		others = tally{free, others.score * more, others.unaligned * more, others.steering * more}
	}
	sure := f.coherence(caught, others, Agent{})
	f.Coherence = &sure
}

// coherence returns the score of [Conduct]. The values of guessed count for each agent outside of both tallies.
func (f *Fleet) coherence(caught, others tally, guessed Agent) float64 {
	if f.Agents == 0 {
		return 1 // no active agents
	}
	all := tally{caught.n + others.n, caught.score + others.score, caught.unaligned + others.unaligned, caught.steering + others.steering}
	all.add(guessed, float64(f.Agents)-all.n)
	score := all.score/all.n - all.unaligned/all.n*weightUnaligned - all.steering/all.n*weightSteering +
		float64(len(f.Phases))/float64(f.Agents)*weightPhases + f.Load*weightLoad
	return min(max(score, 0), 1)
}

// evenness returns 1 minus the variance divided by the squared mean of the agents per phase, at least 0.
func evenness(phases map[string]int) float64 {
	if len(phases) == 0 {
		return 0
	}
	sum, squares := 0.0, 0.0
	for _, n := range phases {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	mean := sum / float64(len(phases))
	variance := squares/float64(len(phases)) - mean*mean
	return max(1-variance/(mean*mean), 0)
}

// status returns the status of the fleet; again is the number of agents that duplicate the work of another one.
func (f *Fleet) status(again int) string {
	switch {
	case f.Agents == 0:
		return FleetNoAgents
	case f.AtMost < critical:
		return FleetCritical
	case f.AtMost < warning, f.Coherence != nil && *f.Coherence < warning:
		return FleetWarning
	case float64(again) > manyDuplicates*float64(f.Agents):
		return FleetInefficient
	case f.Coherence == nil:
		return FleetUnknown
	case f.AtLeast > optimal:
		return FleetOptimal
	}
	return FleetNormal
}

// mostConflicts is the maximum number of conflicts in an analysis, and mostProofs that of the tasks that each names.
const mostConflicts, mostProofs = 50, 20

func firstOf(all []Conflict) []Conflict {
	first := slices.Clone(all[:min(len(all), mostConflicts)])
	for i, c := range first {
		first[i].Evidence = c.Evidence[:min(len(c.Evidence), mostProofs)]
	}
	return first
}

func countKind(all []Conflict, kind string) int {
	n := 0
	for i := range all {
		n += count(all[i].Kind == kind)
	}
	return n
}

// topmost is the maximum of recommendations of one kind, and of tasks named in one.
const topmost = 3

// recommend adds sentences for operators, most important first.
func (f *Fleet) recommend(agents []Agent, links []Link) {
	say := func(format string, args ...any) {
		f.Recommendations = append(f.Recommendations, fmt.Sprintf(format, args...))
	}
	if f.Status == FleetCritical || f.Status == FleetWarning {
		say("Of %d agents %d need steering: look at them first, and start no others before. Next: omoi guardian interventions", f.Agents, f.Steering)
	}
	for _, l := range links[:min(len(links), topmost)] {
		say("Tasks %s and %s are alike by %.2f: let one of them go on, or tell each what the other does. Next: omoi show %s",
			agents[l.A].TaskID, agents[l.B].TaskID, l.Similarity, agents[l.B].TaskID)
	}
	told := map[string]int{}
	for _, c := range f.Conflicts {
		if told[c.Kind]++; told[c.Kind] <= topmost {
			say("%s", c.Why)
		}
	}
	for phase, n := range f.Phases {
		if len(f.Phases) > 1 && float64(n) > crowdedPhase*float64(f.Agents) {
			say("%d of %d agents are in %s.", n, f.Agents, phase)
		}
	}
	if f.Ended > 0 {
		say("The work of %d agents is done, and their sandboxes live. Next: omoi sandbox list", f.Ended)
	}
	if f.Coherence == nil && f.Agents > 0 {
		say("Coherence is unknown: %d of %d agents have no alignment, %s. Next: %s", f.Unknown, f.Agents, unknownText(f.UnknownReasons), unknownStep(f.UnknownReasons))
	}
	if f.Status == FleetOptimal {
		say("All is well: there is nothing to do.")
	}
}
