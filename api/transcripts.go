package api

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// Transcripts stores the transcripts of agents, one text for each agent session.
type Transcripts interface {
	AppendTranscript(ctx context.Context, p transcript.Piece) (transcript.Mark, error)
	SandboxTranscript(ctx context.Context, sandboxID, runID string) ([]byte, error)
	TaskTranscripts(ctx context.Context, organizationID, taskID string) ([]transcript.Info, error)
	TaskTranscript(ctx context.Context, organizationID, taskID, runID string) ([]byte, error)
}

// transcriptType is the content type of transcripts: most lines are JSON, but not all.
const transcriptType = "text/plain"

// runForm matches valid IDs of agent sessions.
var runForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`)

func (a *API) registerTranscripts(limit *bodyLimit) {
	sandboxes := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}/transcripts")
	tasks := a.group(tagTasks, "/api/v1/tasks/{id}/transcripts")
	add(sandboxes.on(accessSandbox, "PUT /{run_id}", "append-transcript", "Append to a transcript"),
		a.putTranscript, details{
			more: "Appends whole lines to the transcript of a run. A piece that does not follow the stored bytes is answered with " +
				"stored false and the offset to continue at; a sandbox has at most 100 transcripts (409). A run named {run_id}.beside holds the " +
				"files beside the transcript of a run: the list of transcripts leaves it out, and no attempt resumes from it.", body: transcript.MaxPiece,
			limit: limit,
		})
	add(sandboxes.on(accessInspect, "GET /{run_id}", "get-sandbox-transcript", "Get a transcript"), a.sandboxTranscript,
		details{more: "Transcript in JSON Lines of a run in this sandbox, or in another attempt of its task.", text: transcriptType})
	add(tasks.on(accessRead, "GET", "list-transcripts", "List transcripts"), a.taskTranscripts,
		details{more: "One for each run of an agent, of all attempts, oldest first.", fails: []int{http.StatusGone}})
	add(tasks.on(accessRead, "GET /{run_id}", "get-transcript", "Get a transcript"), a.taskTranscript,
		details{more: "In JSON Lines format as the agent wrote it, without secrets.", text: transcriptType, fails: []int{http.StatusGone}})
}

type putTranscriptIn struct {
	SandboxPath
	RunID     string `path:"run_id" maxLength:"255" doc:"Name that omoi-agent gave the run: 1 to 255 letters, digits, dots, hyphens and underscores"`
	SessionID string `query:"session_id" maxLength:"255" doc:"Session that a later attempt resumes; empty: named as the run"`
	Offset    int64  `query:"offset" minimum:"0" doc:"Number of bytes that were sent before this piece; 0: none"`
	Sum       int64  `query:"sum" minimum:"0" maximum:"4294967295" doc:"CRC-32C of the bytes that were sent before this piece; 0: none"`
	Replace   bool   `query:"replace" doc:"true: replace the stored transcript; the other numbers must be 0. Default false"`
	RawBody   []byte `contentType:"application/x-ndjson" doc:"Whole lines, each ending with a line feed"`
}

// putTranscript appends a piece. If it does not follow the stored text, the response says where to continue.
func (a *API) putTranscript(ctx context.Context, in *putTranscriptIn) (*bodyOut[client.TranscriptMark], error) {
	switch {
	case !runForm.MatchString(in.RunID), strings.HasPrefix(in.RunID, "session-"): // transcripts from events have these names
		return nil, task.Invalid("path.run_id", "Invalid run_id %q: it does not have the form of a run ID.", clip(in.RunID))
	case in.SessionID != "" && !runForm.MatchString(in.SessionID):
		return nil, task.Invalid("query.session_id", "Invalid session_id %q: it does not have the form of a session ID.", clip(in.SessionID))
	case len(in.RawBody) == 0 || !bytes.HasSuffix(in.RawBody, []byte("\n")):
		return nil, task.Invalid("", "The request body must consist of complete lines.")
	case in.Replace && (in.Offset != 0 || in.Sum != 0):
		return nil, task.Invalid("query.offset", "Invalid offset or sum: both must be 0 with replace.")
	}
	return body(a.deps.Transcripts.AppendTranscript(ctx, transcript.Piece{
		SandboxID: in.SandboxID, RunID: in.RunID, SessionID: in.SessionID, Offset: in.Offset, Sum: in.Sum,
		Replace: in.Replace, Content: in.RawBody, Limit: a.cfg.MaxTranscript,
	}))
}

type sandboxTranscriptIn struct {
	SandboxPath
	RunID string `path:"run_id" maxLength:"255" doc:"Run of the transcript, as the transcript list of the task shows"`
}

type transcriptTextOut struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (a *API) sandboxTranscript(ctx context.Context, in *sandboxTranscriptIn) (*transcriptTextOut, error) {
	content, err := a.deps.Transcripts.SandboxTranscript(ctx, in.SandboxID, in.RunID)
	return &transcriptTextOut{ContentType: transcriptType + "; charset=utf-8", Body: content}, err
}

func (a *API) taskTranscripts(ctx context.Context, in *listOfIn) (*pageOut[client.TranscriptInfo], error) {
	t, err := a.readTask(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all, err := a.deps.Transcripts.TaskTranscripts(ctx, callerOf(ctx).organization, t.ID)
	return whole(in.PageRequest, func(i client.TranscriptInfo) string { return i.RunID }, all, err)
}

type taskTranscriptIn struct {
	IDPath
	RunID string `path:"run_id" maxLength:"255" doc:"Run of the transcript, as the transcript list of the task shows"`
}

func (a *API) taskTranscript(ctx context.Context, in *taskTranscriptIn) (*transcriptTextOut, error) {
	content, err := a.deps.Transcripts.TaskTranscript(ctx, callerOf(ctx).organization, in.ID, in.RunID)
	return &transcriptTextOut{ContentType: transcriptType + "; charset=utf-8", Body: content}, err
}
