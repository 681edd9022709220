package taskcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newTranscript(s *session) *cobra.Command {
	var attempt int
	cmd := s.taskVerb("transcript <task>", "Print an agent's session transcript", func(ctx context.Context, api *client.Client, t client.Task) error {
		return s.transcript(ctx, api, t, attempt)
	})
	cmd.Long = `Print the transcript of a task's newest attempt that has one, as the agent wrote it: usually JSON Lines. The transcript
grows while the agent runs.`
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if attempt < 0 {
			return exit.Usagef("--attempt %d is not valid: attempts count from 1. Next: omoi show %s", attempt, args[0])
		}
		return nil
	}
	cmd.Flags().IntVar(&attempt, "attempt", 0, "number of the attempt; 0: the newest with a transcript")
	return cmd
}

func (s *session) transcript(ctx context.Context, api *client.Client, t client.Task, attempt int) error {
	known, err := api.Transcripts(ctx, t.ID)
	if err != nil {
		return err
	}
	found, ok := transcriptOf(known, attempt)
	switch {
	case !ok && attempt > 0:
		return task.Errorf(task.CodeNotFound, "Attempt %d of the task has no transcript. Next: omoi show %s", attempt, render.Name(t.Key, t.ID))
	case !ok:
		return task.Errorf(task.CodeNotFound, "The task is %s and has no transcript. Next: omoi logs %s", t.Status, render.Name(t.Key, t.ID))
	}
	var content strings.Builder
	if err := api.WriteTranscript(ctx, t.ID, found.RunID, &content); err != nil {
		return err
	}
	if *s.JSON {
		return s.printJSON(struct {
			client.TranscriptInfo

			Content string `json:"content"`
		}{found, content.String()})
	}
	return s.printTranscript(found, content.String())
}

// transcriptOf returns the transcript of an attempt; attempt 0 means the newest.
func transcriptOf(known []client.TranscriptInfo, attempt int) (found client.TranscriptInfo, ok bool) {
	for _, info := range known { // oldest first
		if attempt == 0 || info.Attempt == attempt {
			found, ok = info, true
		}
	}
	return found, ok
}

func (s *session) printTranscript(info client.TranscriptInfo, content string) error {
	if info.CutBytes > 0 {
		s.note("The oldest %d bytes are no longer stored.", info.CutBytes)
	}
	if !isTerminal(s.Stdout) { // unchanged, for programs
		_, err := fmt.Fprint(s.Stdout, content)
		return err
	}
	s.lineByLine(content, render.Clean)
	return nil
}
