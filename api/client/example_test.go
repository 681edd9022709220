package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
)

// Runs a task to its end, and prints its events.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(oneTask)) // in the place of an omoi server
	defer server.Close()
	c := client.New(server.URL, "sk_live_key")
	if err := runTask(context.Background(), c, "owner/name", "Say hello"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 agent.started
	// 2 agent.completed
	// completed
}

func runTask(ctx context.Context, c *client.Client, repo, title string) error {
	t, _, err := c.CreateTask(ctx, client.CreateTaskRequest{Repo: repo, Title: title}, "")
	if err != nil {
		return fmt.Errorf("create a task: %w", err)
	}
	for cursor := ""; ; {
		page, err := c.Events(ctx, t.ID, cursor, 30*time.Second) // waits for the next events
		if err != nil {
			return fmt.Errorf("read the events of task %s: %w", t.ID, err)
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

// oneTask responds as omoi does while a task runs.
func oneTask(w http.ResponseWriter, r *http.Request) {
	answer := `{"id":"t1","status":"pending"}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/events") && r.URL.Query().Get("cursor") == "":
		answer = `{"items":[{"sequence":1,"event_type":"agent.started"}],"next_cursor":"1:1","task_status":"running"}`
	case strings.HasSuffix(r.URL.Path, "/events"):
		answer = `{"items":[{"sequence":2,"event_type":"agent.completed"}],"next_cursor":null,"task_status":"completed"}`
	}
	_, _ = io.WriteString(w, answer)
}
