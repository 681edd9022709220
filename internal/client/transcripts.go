package client

import (
	"context"
	"io"

	"github.com/omoi-dev/omoi/internal/transcript"
)

// TranscriptInfo is one element of GET /api/v1/tasks/{id}/transcripts.
type TranscriptInfo = transcript.Info

// TranscriptMark is the answer of PUT /api/v1/sandboxes/{id}/transcripts/{run}.
type TranscriptMark = transcript.Mark

// Transcripts lists the transcripts of a task's attempts, oldest attempt first.
func (c *Client) Transcripts(ctx context.Context, taskID string) ([]TranscriptInfo, error) {
	page, err := answer[Page[TranscriptInfo]](ctx, c, call{path: item("tasks", taskID, "transcripts")})
	return page.Items, err
}

// WriteTranscript writes the transcript of one run to w.
func (c *Client) WriteTranscript(ctx context.Context, taskID, runID string, w io.Writer) error {
	_, err := c.download(ctx, item("tasks", taskID, "transcripts", runID), w)
	return err
}
