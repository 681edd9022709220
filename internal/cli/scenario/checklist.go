package scenario

import "slices"

// Point is one of the nine points of the checklist for sandboxes, with the steps that prove it.
type Point struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`

	check string
	steps []string
}

// Checklist says of each point what became of the steps that prove it: the worst counts, and what was not run is SKIP.
func Checklist(results []Result) []Point {
	points := []Point{
		{Name: "Sandbox task can submit results without ValueError", check: "e2e", steps: []string{"the task is completed"}},
		{Name: "Guardian can detect sandbox tasks in monitoring loop", check: "monitoring", steps: []string{"the monitoring finds its sandbox", "the guardian finds it"}},
		{Name: "Guardian can send interventions to sandbox tasks", check: "guardian", steps: []string{"it tells the agent", "the agent has heard it"}},
		{Name: "Trajectory analysis finds sandbox agent's current task", check: "monitoring", steps: []string{"its id leads to its trajectory"}},
		{Name: "Monitor metrics include sandbox task completions", check: "agent", steps: []string{"its completion is recorded"}},
		{Name: "Agent output collector returns events for sandbox agents", check: "monitoring", steps: []string{"what its agent says is collected"}},
		{Name: "Collaboration messages reach sandbox agents", check: "agent", steps: []string{"a message reaches it"}},
		{Name: "Task retry works for sandbox tasks", check: "flow", steps: []string{"a cancel stops it", "a retry begins in another sandbox"}},
		{Name: "Diagnostic recovery notifications include sandbox tasks", check: "diagnosis", steps: []string{"its failure is diagnosed", "the next agent is told"}},
	}
	for i := range points {
		points[i].judge(results)
	}
	return points
}

func (p *Point) judge(results []Result) {
	passed := 0
	p.Verdict = Skip
	for _, r := range results {
		for _, s := range r.Steps {
			switch {
			case r.Name != p.check || !slices.Contains(p.steps, s.Name):
			case s.Verdict == Fail:
				p.Verdict = Fail
				return
			case s.Verdict == Pass:
				passed++
			}
		}
	}
	if passed == len(p.steps) && passed > 0 {
		p.Verdict = Pass
	}
}
