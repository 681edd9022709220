package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

// Story is what is known of how a task was done, with what its attempt at work has used by now, and of the tasks
// before it in its pull request. [task.CodeNotFound] if there is no such task.
func (s *Store) Story(ctx context.Context, organizationID, taskID string) (receipt.PullRequestData, error) {
	story, err := s.storyOf(ctx, organizationID, taskID)
	if err != nil {
		return receipt.PullRequestData{}, err
	}
	if err := s.addAccepted(ctx, &story.Task); err != nil {
		return receipt.PullRequestData{}, err
	}
	earlier, err := s.q.EarlierTasks(ctx, taskID)
	if err != nil {
		return receipt.PullRequestData{}, translate("look for the tasks before task "+taskID, err)
	}
	for _, id := range earlier {
		one, err := s.storyOf(ctx, organizationID, id)
		if err != nil {
			return receipt.PullRequestData{}, err
		}
		story.Earlier = append(story.Earlier, one)
	}
	return story, nil
}

// storyOf is the story of one task alone.
func (s *Store) storyOf(ctx context.Context, organizationID, taskID string) (receipt.PullRequestData, error) {
	if err := meterTask(ctx, s.q, organizationID, taskID); err != nil {
		return receipt.PullRequestData{}, translate("count what the agents of task "+taskID+" have used", err)
	}
	t, err := s.Task(ctx, organizationID, taskID)
	if err != nil {
		return receipt.PullRequestData{}, err
	}
	story := receipt.PullRequestData{Task: t}
	if story.Receipt, err = s.Receipt(ctx, organizationID, taskID); err != nil {
		return receipt.PullRequestData{}, err
	}
	spoken, err := s.q.Spoken(ctx, &taskID)
	if err != nil {
		return receipt.PullRequestData{}, translate("read who spoke to the agents of task "+taskID, err)
	}
	story.Spoken = mapAll(spoken, func(r db.SpokenRow) receipt.Spoken {
		return receipt.Spoken{By: r.SenderKind, Kind: r.Kind, Count: int(r.Times)}
	})
	return story, s.lastWords(ctx, &story)
}

// lastWords adds what the newest agent said at its end that did not judge but work.
func (s *Store) lastWords(ctx context.Context, story *receipt.PullRequestData) error {
	worker := ""
	for _, a := range story.Task.Attempts {
		if a.Kind != task.KindValidation {
			worker = a.SandboxID
		}
	}
	own, err := s.q.OwnAgentAlone(ctx, worker)
	if err != nil {
		return translate("read who spoke for task "+story.Task.ID, err)
	}
	rows, err := s.q.Decisive(ctx, worker, event.Types(event.Completion))
	for _, r := range rows {
		said := readObject(r.EventData)
		if words := said.text("final_output"); words != "" {
			story.Output = words
		}
		tests(said, own, story)
		story.ChangedNothing = story.ChangedNothing || own && said.yes("changed_nothing")
	}
	return translate("read the agent's last words of task "+story.Task.ID, err)
}

// tests adds what an event says of tests. That omoi ran them is known where nobody else can have said so; else it is a claim.
func tests(told object, own bool, story *receipt.PullRequestData) {
	if own && told.yes("tests_run") {
		story.TestsPassed = new(told.yes("tests_passed"))
		return
	}
	story.TestsSaid = story.TestsSaid || told.yes("tests_said") || told.yes("tests_passed")
}
