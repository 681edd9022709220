package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/omoi-dev/omoi/internal/task"
)

// TranscriptInfo is one element of GET /api/v1/tasks/{id}/transcripts.
type TranscriptInfo = task.TranscriptInfo

// TranscriptMark is the answer of PUT /api/v1/sandboxes/{id}/transcripts/{run}.
type TranscriptMark = task.TranscriptMark

// Transcripts lists the transcripts of a task's attempts, oldest attempt first.
func (c *Client) Transcripts(ctx context.Context, taskID string) ([]TranscriptInfo, error) {
	var page Page[TranscriptInfo]
	_, err := c.do(ctx, call{method: http.MethodGet, path: item("tasks", taskID, "transcripts")}, &page)
	return page.Items, err
}

// WriteTranscript writes the transcript of one run to w.
func (c *Client) WriteTranscript(ctx context.Context, taskID, runID string, w io.Writer) error {
	res, err := c.send(ctx, call{method: http.MethodGet, path: item("tasks", taskID, "transcripts", runID)})
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	return nil
}
