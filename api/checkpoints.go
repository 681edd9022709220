package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

// Checkpoints stores the checkpoints of attempts.
type Checkpoints interface {
	AppendChunk(ctx context.Context, c checkpoint.Chunk) (checkpoint.Received, error)
	SealCheckpoint(ctx context.Context, at checkpoint.Upload, sealed checkpoint.Sealed) (checkpoint.Checkpoint, error)
	// SandboxCheckpoint returns a checkpoint of the task whose attempt runs in a sandbox, and names the task.
	SandboxCheckpoint(ctx context.Context, sandboxID string, id checkpoint.ID) (taskID string, c checkpoint.Checkpoint, err error)
	// PackChunk returns the bytes of a pack from the end of another chunk on, or from 0.
	PackChunk(ctx context.Context, taskID string, id checkpoint.ID, offset int64) ([]byte, error)
	TaskCheckpoints(ctx context.Context, organizationID, taskID string, page client.PageRequest) (client.Page[checkpoint.Checkpoint], error)
	TaskCheckpoint(ctx context.Context, taskID string, id checkpoint.ID) (checkpoint.Checkpoint, error)
}

// maxSealed is the maximum length of the description of a checkpoint in bytes.
const maxSealed = 64 << 10

func (a *API) registerCheckpoints(limit *bodyLimit) {
	sandboxes := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}/checkpoints/{checkpoint}")
	tasks := a.group(tagTasks, "/api/v1/tasks/{id}/checkpoints")
	add(sandboxes.on(accessSandbox, "PUT /pack", "append-checkpoint-chunk", "Append to the pack of a checkpoint"), a.putChunk, details{
		more: "Stores a chunk of a pack. A chunk that does not follow the stored bytes is answered with stored false and the offset to " +
			"continue at. The first chunk of a number gives up an upload under a lower number. 409 if a newer attempt of the task " +
			"exists and the sandbox sends, if the attempt runs and a user sends, or if the server has other bytes there.", body: checkpoint.MaxChunk, limit: limit,
	})
	add(sandboxes.on(accessSandbox, "PUT", "seal-checkpoint", "Complete a checkpoint"), a.putCheckpoint, details{
		more: "Completes a checkpoint whose pack, transcript and events are stored. The same request again gets the same answer. " +
			"409 if pack_bytes or pack_sha256 is not that of the stored pack, if base_number is not a stored checkpoint of the " +
			"attempt, or if the checkpoint is complete with other content: send a keyframe under a higher number. " +
			"422 checkpoint_limit if the checkpoints of the task have too many bytes.", body: maxSealed,
	})
	add(sandboxes.on(accessInspect, "GET /pack", "get-checkpoint-pack", "Download the pack of a checkpoint"), a.getPack,
		details{more: "Git pack of a checkpoint of this attempt or of another attempt of its task, thin against its base.", text: keptType})
	add(tasks.on(accessRead, "GET /{checkpoint_id}/pack", "download-checkpoint-pack", "Download the pack of a checkpoint"), a.taskPack, details{
		more: "Git pack of a checkpoint, thin against the pack of its base, and against the commits of the task's branch.", text: keptType, fails: []int{http.StatusGone},
	})
	add(tasks.on(accessRead, "GET", "list-checkpoints", "List checkpoints"), a.listCheckpoints,
		details{more: "Complete checkpoints of all attempts, newest first.", fails: []int{http.StatusGone}})
	add(tasks.on(accessRead, "GET /{checkpoint_id}", "get-checkpoint", "Get a checkpoint"), a.getCheckpoint,
		details{more: "What one checkpoint holds and lacks.", fails: []int{http.StatusGone}})
}

// NumberPath names a checkpoint that the sandbox sends.
type NumberPath struct {
	SandboxPath
	Number int `path:"checkpoint" minimum:"1" maximum:"100000" doc:"Number of the checkpoint in its attempt, from 1; numbers may be skipped"`
}

func (in NumberPath) upload(ctx context.Context) checkpoint.Upload {
	return checkpoint.Upload{SandboxID: in.SandboxID, Number: in.Number, User: callerOf(ctx).sandbox == ""}
}

type putChunkIn struct {
	NumberPath
	Offset  int64  `query:"offset" minimum:"0" maximum:"536870912" doc:"Position in the pack at which the chunk begins; 0: the beginning"`
	RawBody []byte `contentType:"application/octet-stream" doc:"At most 4 MiB of the pack"`
}

func (a *API) putChunk(ctx context.Context, in *putChunkIn) (*bodyOut[client.CheckpointReceived], error) {
	if len(in.RawBody) == 0 {
		return nil, task.Invalid("", "The request body must hold a part of the pack.")
	}
	return body(a.deps.Checkpoints.AppendChunk(ctx, checkpoint.Chunk{Upload: in.upload(ctx), Offset: in.Offset, Content: in.RawBody}))
}

type putCheckpointIn struct {
	NumberPath
	Body client.CheckpointSealed
}

func (a *API) putCheckpoint(ctx context.Context, in *putCheckpointIn) (*bodyOut[client.Checkpoint], error) {
	return body(a.deps.Checkpoints.SealCheckpoint(ctx, in.upload(ctx), in.Body))
}

type packIn struct {
	SandboxPath
	ID string `path:"checkpoint" maxLength:"30" doc:"Checkpoint of the task, as <attempt>.<number>, for example 2.14"`
}

func (a *API) getPack(ctx context.Context, in *packIn) (*huma.StreamResponse, error) {
	id, err := checkpointID(in.ID)
	if err != nil {
		return nil, err
	}
	taskID, c, err := a.deps.Checkpoints.SandboxCheckpoint(ctx, in.SandboxID, id)
	if err != nil {
		return nil, err
	}
	return a.sendPack(ctx, taskID, c)
}

func (a *API) taskPack(ctx context.Context, in *checkpointIn) (*huma.StreamResponse, error) {
	taskID, c, err := a.taskCheckpoint(ctx, in)
	if err != nil {
		return nil, err
	}
	return a.sendPack(ctx, taskID, c)
}

// sendPack returns the response with the pack of a checkpoint.
func (a *API) sendPack(ctx context.Context, taskID string, c checkpoint.Checkpoint) (*huma.StreamResponse, error) {
	at, id := int64(0), checkpoint.ID{Attempt: c.Attempt, Number: c.Number}
	return a.sendPieces(ctx, keptType, "checkpoint "+c.ID+" of task "+taskID, func(ctx context.Context) ([]byte, error) {
		if at == c.PackBytes {
			return nil, nil
		}
		chunk, err := a.deps.Checkpoints.PackChunk(ctx, taskID, id, at)
		at += int64(len(chunk))
		return chunk, err
	})
}

// checkpointID reads the ID in a path. [task.CodeNotFound] for a text of another form: it names no checkpoint.
func checkpointID(text string) (checkpoint.ID, error) {
	id, err := checkpoint.ParseID(text)
	if err != nil {
		return id, task.Errorf(task.CodeNotFound, "There is no checkpoint %q: a checkpoint is <attempt>.<number>, for example 2.14.", clip(text))
	}
	return id, nil
}

func (a *API) listCheckpoints(ctx context.Context, in *listOfIn) (*pageOut[client.Checkpoint], error) {
	t, err := a.readTask(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return body(a.deps.Checkpoints.TaskCheckpoints(ctx, callerOf(ctx).organization, t.ID, in.PageRequest))
}

type checkpointIn struct {
	IDPath
	CheckpointID string `path:"checkpoint_id" maxLength:"30" doc:"ID of the checkpoint, as <attempt>.<number>, for example 2.14"`
}

func (a *API) getCheckpoint(ctx context.Context, in *checkpointIn) (*bodyOut[client.Checkpoint], error) {
	_, c, err := a.taskCheckpoint(ctx, in)
	return body(c, err)
}

// taskCheckpoint returns a checkpoint that a path names, and the ID of its task.
func (a *API) taskCheckpoint(ctx context.Context, in *checkpointIn) (taskID string, c client.Checkpoint, err error) {
	id, err := checkpointID(in.CheckpointID)
	if err != nil {
		return "", c, err
	}
	t, err := a.readTask(ctx, in.ID)
	if err != nil {
		return "", c, err
	}
	c, err = a.deps.Checkpoints.TaskCheckpoint(ctx, t.ID, id)
	return t.ID, c, err
}
