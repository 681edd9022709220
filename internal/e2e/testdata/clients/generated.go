// Runs one task to its end by the client that oapi-codegen generated.
package main

import (
	"context"
	"fmt"
	"os"

	"example.com/generated/omoi"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	c, err := omoi.NewClientWithResponses(os.Getenv("OMOI_API_URL"))
	if err != nil {
		return err
	}
	repo, text, agent := os.Getenv("OMOI_TEST_REPO"), "Say hello", omoi.CreateTaskRequestAgentScripted
	script := map[string]any{"steps": []map[string]any{{"say": "hello"}, {"complete": map[string]any{}}}}
	made, err := c.CreateTaskWithResponse(ctx, &omoi.CreateTaskParams{}, omoi.CreateTaskRequest{
		Repo: &repo, Description: &text, Agent: &agent, ExecutionConfig: &omoi.ExecutionConfig{Script: &script},
	})
	if err != nil || made.JSON201 == nil {
		return fmt.Errorf("create a task: %w %s", err, made.Body)
	}
	wait, cursor := "20s", ""
	for {
		page, err := c.ListTaskEventsWithResponse(ctx, made.JSON201.Id, &omoi.ListTaskEventsParams{Cursor: &cursor, Wait: &wait})
		if err != nil || page.JSON200 == nil {
			return fmt.Errorf("list the events: %w %s", err, page.Body)
		}
		for _, e := range page.JSON200.Items {
			fmt.Println(e.Sequence, e.EventType)
			if e.EventType == string(omoi.AgentCompletedEventEventTypeAgentCompleted) {
				typed, err := e.AsAgentCompletedEvent()
				if err != nil {
					return err
				}
				fmt.Println("success", *typed.EventData.Success)
			}
		}
		if page.JSON200.NextCursor == nil {
			fmt.Println(page.JSON200.TaskStatus)
			return nil
		}
		cursor = *page.JSON200.NextCursor
	}
}
