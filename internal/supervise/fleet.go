package supervise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Agent is one agent at work, as a fleet is looked at: what the guardian last thought of it.
type Agent struct {
	TaskID, ProjectID, Phase string
	Known                    bool    // somebody could judge it lately; else what follows says nothing
	Caught                   bool    // by a rule: rules look at everybody, and speak of faults only
	Score                    float64 // alignment, 0..1
	Aligned, Steer           bool
	Ended                    bool     // its work is done, and its sandbox lives
	Focus                    string   // what it is at
	Files                    []string // that it has changed
}

// Fleet is what is thought of all agents of an organization together.
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
	Ended           int            `json:"termination_count" doc:"Number of agents whose work is done while their sandbox still runs."`
	Coordination    int            `json:"coordination_count" doc:"Number of files that several agents of a project change at the same time."`
	Phases          map[string]int `json:"phase_distribution" doc:"Number of active agents by phase_id."`
	Projects        map[string]int `json:"project_distribution" doc:"Number of active agents by UUID of the project."`
	Load            float64        `json:"load_balance" doc:"How evenly the agents are spread over the phases, 0 to 1; 1: evenly."`
	Recommendations []string       `json:"recommendations" doc:"Sentences for operators, most important first."`
}

// Statuses of a fleet, in the words of the replaced system, and unknown.
const (
	FleetNoAgents    = "no_agents"
	FleetCritical    = "critical"
	FleetWarning     = "warning"
	FleetInefficient = "inefficient" // many do the same
	FleetOptimal     = "optimal"
	FleetNormal      = "normal"
	FleetUnknown     = "unknown" // too few are judged to say
)

// Shares of the coherence, and the bounds of its words: those of the replaced system.
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
	// enough is the part that must be judged, of the agents that no rule has caught, for a coherence: ours.
	enough = 0.5
)

// Conduct looks at a fleet. The links are its duplicates, by places in agents.
//
// The coherence is the replaced system's: the mean alignment, minus 0.2 times the part that is not
// aligned and 0.3 times the part that needs steering, plus 0.1 times the number of phases by that
// of agents and 0.1 times how even the load over phases is, within 0 and 1. Three things differ.
// Agents are the active sandboxes: the replaced system counted agents by a heartbeat that those of
// sandboxes never had, and so always said 1. Whom a rule has caught stands for himself; the others
// that were judged stand for all others, and where they are less than half of these there is no
// coherence: else those at fault alone would be heard where no model speaks. And the hard words,
// critical and optimal, are said only where what is not known could not change them.
func Conduct(agents []Agent, links []Link) Fleet {
	f := Fleet{Agents: len(agents), Duplicates: len(links), Phases: map[string]int{}, Projects: map[string]int{}, Recommendations: []string{}}
	for _, a := range agents {
		f.Phases[a.Phase]++
		f.Projects[a.ProjectID]++
		f.Judged += count(a.Known)
		f.Steering += count(a.Known && a.Steer)
		f.Ended += count(a.Known && a.Ended)
	}
	shared := sharedFiles(agents)
	f.Coordination, f.Load = len(shared), evenness(f.Phases)
	f.Unknown = f.Agents - f.Judged
	f.cohere(agents)
	again := map[int]bool{}
	for _, l := range links {
		again[l.B] = true
	}
	f.Status = f.status(len(again))
	f.recommend(agents, links, shared)
	return f
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// tally sums agents up: each counts as much as its weight.
type tally struct{ n, score, unaligned, steering float64 }

func (t *tally) add(a Agent, weight float64) {
	t.n += weight
	t.score += a.Score * weight
	t.unaligned += float64(count(!a.Aligned)) * weight
	t.steering += float64(count(a.Steer)) * weight
}

// cohere says how coherent the agents are, and could be.
func (f *Fleet) cohere(agents []Agent) {
	var caught, others tally // of those that were judged
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
	free := float64(f.Agents) - caught.n // of rules
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

// coherence is the formula of [Conduct]; whoever is neither caught nor among the others is as guessed.
func (f *Fleet) coherence(caught, others tally, guessed Agent) float64 {
	if f.Agents == 0 {
		return 1 // nobody is at work
	}
	all := tally{caught.n + others.n, caught.score + others.score, caught.unaligned + others.unaligned, caught.steering + others.steering}
	all.add(guessed, float64(f.Agents)-all.n)
	score := all.score/all.n - all.unaligned/all.n*weightUnaligned - all.steering/all.n*weightSteering +
		float64(len(f.Phases))/float64(f.Agents)*weightPhases + f.Load*weightLoad
	return min(max(score, 0), 1)
}

// evenness of the agents over their phases: 1 minus the variance by the square of the mean, or 0.
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

// status is the fleet's word; again is how many do what somebody else does.
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

// shared is a file that several agents of a project change at a time.
type shared struct {
	path  string
	tasks []string
}

func sharedFiles(agents []Agent) []shared {
	type key struct{ project, path string }
	by := map[key][]string{}
	for _, a := range agents {
		for _, file := range slices.Compact(slices.Sorted(slices.Values(a.Files))) {
			k := key{a.ProjectID, inWorkspace(file)}
			by[k] = append(by[k], a.TaskID)
		}
	}
	var list []shared
	for k, tasks := range by {
		if len(tasks) > 1 {
			list = append(list, shared{k.path, tasks})
		}
	}
	slices.SortFunc(list, func(a, b shared) int {
		return cmp.Or(len(b.tasks)-len(a.tasks), strings.Compare(a.path+a.tasks[0], b.path+b.tasks[0]))
	})
	return list
}

// topmost is how many of a kind are named.
const topmost = 3

// recommend says what a person may do about it.
func (f *Fleet) recommend(agents []Agent, links []Link, files []shared) {
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
	for _, file := range files[:min(len(files), topmost)] {
		say("%d agents change %s at a time (%s): their branches will meet there.", len(file.tasks), cut(file.path, shortText), strings.Join(file.tasks[:min(len(file.tasks), topmost)], ", "))
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
		say("Of %d of %d agents nobody can say how they do: rules only see faults, a model sees more (docs/SUPERVISION.md).", f.Unknown, f.Agents)
	}
	if f.Status == FleetOptimal {
		say("All is well: there is nothing to do.")
	}
}
