// Runs one task to its end by the package api/client, in a module of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/omoi-dev/omoi/api/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	c := client.New(os.Getenv("OMOI_API_URL"), os.Getenv("OMOI_API_KEY"))
	var refused *client.Error
	if _, err := c.Task(ctx, "unknown"); !errors.As(err, &refused) || refused.Code != client.CodeNotFound {
		return fmt.Errorf("an unknown task: %w", err)
	}
	t, _, err := c.CreateTask(ctx, client.CreateTaskRequest{
		Repo: os.Getenv("OMOI_TEST_REPO"), Title: "Say hello", Agent: "scripted",
		Execution: []byte(`{"script": {"steps": [{"say": "hello"}, {"complete": {}}]}}`),
	}, "")
	if err != nil {
		return err
	}
	for cursor := ""; ; {
		page, err := c.Events(ctx, t.ID, cursor, 20*time.Second)
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			fmt.Println(e.Sequence, e.Type)
		}
		if page.NextCursor == nil {
			fmt.Println(page.TaskStatus)
			return nil
		}
		cursor = *page.NextCursor
	}
}
