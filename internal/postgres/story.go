package postgres

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

// Story returns the data of a task's pull request: how the task was done, the usage so far, and the earlier tasks of
// the same pull request. [task.CodeNotFound] if the task does not exist.
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
		return receipt.PullRequestData{}, translate("list the tasks before task "+taskID, err)
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

// storyOf returns the data of one task.
func (s *Store) storyOf(ctx context.Context, organizationID, taskID string) (receipt.PullRequestData, error) {
	if err := meterTask(ctx, s.q, organizationID, taskID); err != nil {
		return receipt.PullRequestData{}, translate("update the usage of task "+taskID, err)
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
		return receipt.PullRequestData{}, translate("read the message senders of task "+taskID, err)
	}
	story.Spoken = mapAll(spoken, func(r db.SpokenRow) receipt.Spoken {
		return receipt.Spoken{By: r.SenderKind, Kind: r.Kind, Count: int(r.Times)}
	})
	return story, s.lastWords(ctx, &story)
}

// lastWords adds what the newest agent other than a validator reported at its end.
func (s *Store) lastWords(ctx context.Context, story *receipt.PullRequestData) error {
	worker := ""
	for _, a := range story.Task.Attempts {
		if a.Kind != task.KindValidation {
			worker = a.SandboxID
		}
	}
	own, err := s.q.OwnAgentAlone(ctx, worker)
	if err != nil {
		return translate("read the event senders of task "+story.Task.ID, err)
	}
	pushed, err := s.q.Pushed(ctx, story.Task.ID)
	if err != nil {
		return translate("read the pushes of task "+story.Task.ID, err)
	}
	rows, err := s.q.Decisive(ctx, worker, event.Types(event.Completion))
	for _, r := range rows {
		said := readObject(r.EventData)
		if words := said.text("final_output"); words != "" {
			story.Output = words
		}
		tests(said, own, story)
		story.ChangedNothing = story.ChangedNothing || own && !pushed && said.yes("changed_nothing")
		var files int
		if own && json.Unmarshal(said["committed_by_omoi"], &files) == nil {
			story.CommittedByOmoi = files
		}
	}
	return translate("read the completion of task "+story.Task.ID, err)
}

// tests adds the reported test result. The result counts as omoi's own only if no other sender can have written it;
// otherwise it is a claim.
func tests(told object, own bool, story *receipt.PullRequestData) {
	if own && told.yes("tests_run") {
		story.TestsPassed = new(told.yes("tests_passed"))
		return
	}
	story.TestsSaid = story.TestsSaid || told.yes("tests_said") || told.yes("tests_passed")
}
