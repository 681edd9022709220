package receipt

import (
	"slices"

	"github.com/omoi-dev/omoi/internal/task"
)

// PullRequestData is what is known of how a task was done when its work is published.
type PullRequestData struct {
	Task    task.Task
	Receipt DeletionReceipt
	Output  string // the agent's last words; empty: it said none
	// TestsPassed is how the test command ended that omoi ran beside the agent; nil: it ran none, or another program
	// in the sandbox may have said so.
	TestsPassed *bool
	// TestsSaid: the agent says that tests passed.
	TestsSaid bool
	// ChangedNothing: the agent was done without a commit, and left nothing uncommitted, by omoi's own word.
	ChangedNothing bool
	Spoken         []Spoken
	// Earlier are the stories of the tasks before it in the same pull request, the first one first.
	Earlier []PullRequestData
}

// All are the stories of a pull request, the first one first.
func (s PullRequestData) All() []PullRequestData { return append(slices.Clip(s.Earlier), s) }

// Sum has the attempts, interventions, visits and costs of all tasks of a pull request; the rest is the newest one's.
func (s PullRequestData) Sum() PullRequestData {
	if len(s.Earlier) == 0 {
		return s
	}
	sum := s
	sum.Task.Attempts, sum.Task.AttemptCount, sum.Task.Replacements, sum.Task.Revisions, sum.Spoken, sum.Earlier = nil, 0, 0, 0, nil, nil
	boxes, visits := []task.Sandbox{}, []AccessSession{}
	for _, one := range s.All() {
		sum.Task.Attempts = append(sum.Task.Attempts, one.Task.Attempts...)
		sum.Task.AttemptCount += one.Task.AttemptCount
		sum.Task.Replacements += one.Task.Replacements
		sum.Task.Revisions += one.Task.Revisions
		sum.Spoken = spokenWith(sum.Spoken, one.Spoken)
		boxes, visits = append(boxes, one.Receipt.Sandboxes...), append(visits, one.Receipt.AccessSessions...)
	}
	sum.Receipt = New(sum.Task, boxes, visits)
	return sum
}

// spokenWith adds up what was said by each.
func spokenWith(all, more []Spoken) []Spoken {
	for _, m := range more {
		n := slices.IndexFunc(all, func(k Spoken) bool { return k.By == m.By && k.Kind == m.Kind })
		if n < 0 {
			all = append(all, m)
			continue
		}
		all[n].Count += m.Count
	}
	return all
}

// Spoken is how often somebody spoke to the agents of a task.
type Spoken struct {
	By    string // person, guardian, system, agent
	Kind  string // user_message, interrupt, guardian_nudge, system
	Count int
}
