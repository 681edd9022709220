package receipt

import (
	"slices"

	"github.com/omoi-dev/omoi/internal/task"
)

// PullRequestData is what the description of a pull request says about a task.
type PullRequestData struct {
	Task    task.Task
	Receipt DeletionReceipt
	Output  string // the agent's final message; empty: none
	// TestsPassed is the result of the test command that omoi ran beside the agent. nil: omoi ran none, or another
	// program in the sandbox may have reported it.
	TestsPassed *bool
	// TestsSaid reports that the agent says its tests passed.
	TestsSaid bool
	// ChangedNothing reports that the agent completed without commits and without uncommitted changes, as omoi checked.
	ChangedNothing bool
	// CommittedByOmoi is how many files omoi committed because the agent had left them uncommitted.
	CommittedByOmoi int
	Spoken          []Spoken
	// Earlier holds the earlier tasks of the same pull request, oldest first.
	Earlier []PullRequestData
}

// All returns all tasks of the pull request, oldest first.
func (s PullRequestData) All() []PullRequestData { return append(slices.Clip(s.Earlier), s) }

// Sum returns the newest task with the attempts, interventions, access sessions and costs of all tasks.
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

// spokenWith adds up counts by sender and kind.
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

// Spoken counts messages to the agents of a task.
type Spoken struct {
	By    string // person, guardian, system, agent
	Kind  string // user_message, interrupt, guardian_nudge, system
	Count int
}
