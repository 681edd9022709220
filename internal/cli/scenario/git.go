package scenario

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const gitFile = "omoi-check.txt"

// gitCheck is about the way of work into a repository.
func gitCheck() Scenario {
	return Scenario{Name: "git", Title: "work gets to a branch and a pull request", trials: func(k *kit) []trial {
		return []trial{
			{name: "the repository takes work", do: k.takesWork},
			{name: "a branch is made", do: k.branched},
			{name: "the agent commits and pushes", do: k.pushed},
			{name: "a pull request is opened", do: k.pulled},
		}
	}}
}

func (k *kit) takesWork(ctx context.Context) (string, error) {
	repo, err := k.place(ctx)
	if err != nil {
		return "", err
	}
	write := map[string]any{"write": map[string]any{"path": gitFile, "content": "{{message}}\n"}}
	t, err := k.give(ctx, client.NewTask{Repo: repo, Description: "Write " + gitFile + ", and commit it."},
		k.waitMessage(), write, map[string]any{"commit": "Show that work gets here"}, map[string]any{"push": true}, complete("pushed"))
	if err != nil {
		return "", err
	}
	return "Tasks of " + t.Repo + " are accepted.", nil
}

func (k *kit) branched(ctx context.Context) (string, error) {
	t, err := k.atWork(ctx)
	if err != nil {
		return "", err
	}
	if t.Branch == nil {
		return "", k.wrong("Its agent is at work, and there is no branch.")
	}
	return fmt.Sprintf("Branch %s is there, and its agent has it checked out.", *t.Branch), nil
}

// pushed has the agent write what only this run knows.
func (k *kit) pushed(ctx context.Context) (string, error) {
	if _, err := k.tell(ctx, k.newest()); err != nil {
		return "", err
	}
	if _, err := k.until(ctx, func(t client.Task) bool { return t.Status == task.StatusCompleted }); err != nil {
		return "", err
	}
	var diff bytes.Buffer
	if err := k.API.Diff(ctx, k.newest(), &diff); err != nil {
		return "", err
	}
	if !strings.Contains(diff.String(), "+"+k.newest()) {
		return "", k.wrong("The branch has not what the agent wrote into %s.", gitFile)
	}
	return "The branch has the commit, with what the agent was told.", nil
}

func (k *kit) pulled(ctx context.Context) (string, error) {
	t, err := k.API.Task(ctx, k.newest())
	switch {
	case err != nil:
		return "", err
	case t.PullURL == nil:
		return "", k.wrong("The task is completed without a pull request.")
	}
	return *t.PullURL + " is open.", nil
}
