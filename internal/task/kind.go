package task

import "errors"

// Kind is more exact than a [Code]. The API sends it as the code of an error document. Programs decide by it, never by
// a message.
type Kind string

// Kinds of errors that share a [Code]. The kind of any other error is its code.
const (
	KindMalformedBody   Kind = "malformed_body"
	KindBodyTooLarge    Kind = "body_too_large"
	KindContentType     Kind = "unsupported_content_type"
	KindRequestTimeout  Kind = "request_timeout"
	KindMethod          Kind = "method_not_allowed"
	KindInvalidCursor   Kind = "invalid_cursor"
	KindScope           Kind = "insufficient_scope"
	KindOtherSandbox    Kind = "other_sandbox"
	KindInvalidState    Kind = "invalid_state"
	KindDuplicateWork   Kind = "duplicate_work"
	KindKeyReused       Kind = "idempotency_key_reused"
	KindNameTaken       Kind = "name_taken"
	KindBeyondLastEvent Kind = "beyond_last_event"
	KindOpenTasks       Kind = "project_has_open_tasks"
	KindSequenceGap     Kind = "sequence_gap"
	KindMessageRejected Kind = "message_rejected"
	KindQuestionClosed  Kind = "question_closed"
	KindCheckpointLimit Kind = "checkpoint_limit"
	KindContinued       Kind = "task_continued"
	KindSandboxDeleted  Kind = "sandbox_deleted"
	KindDataRemoved     Kind = "data_removed"
	KindQueueFull       Kind = "queue_full"
	KindOverloaded      Kind = "overloaded"
	KindStopping        Kind = "server_stopping"
	KindTimeout         Kind = "timeout"
	KindImmutable       Kind = "immutable_field"
	KindNoAgent         Kind = "no_agent_runtime"
	KindDiffTooLong     Kind = "diff_too_long"
	KindNoFiles         Kind = "no_files"
	KindPathNotFound    Kind = "path_not_found"
	KindDamaged         Kind = "checkpoint_damaged"
	KindCommitMissing   Kind = "commit_missing"
	KindFilesTooLarge   Kind = "files_too_large"
	KindOrigin          Kind = "origin_rejected"
	KindDatabase        Kind = "database_unavailable"
	KindDiskFull        Kind = "disk_full"
	KindUpstream        Kind = "upstream_failed"
)

// KindInfo documents a kind of error for callers of the API.
type KindInfo struct {
	Kind   Kind
	Code   Code
	Status int    // HTTP status
	Cause  string // condition under which it is sent
	Next   string // what the caller can do
}

// Kinds returns the description of each kind, by status.
func Kinds() []KindInfo {
	return []KindInfo{
		{KindMalformedBody, CodeInvalid, 400, "The body is not valid JSON, gzip or chunked encoding. Routes of the legacy API answer 422 `invalid` to a body that is not JSON.", "Correct the body. Sending the same bytes again fails again."},
		{"unauthorized", CodeUnauthorized, 401, "The request carries no credential, or one that is unknown, revoked or expired.", "Send a valid API key, JWT or sandbox token."},
		{"forbidden", CodeForbidden, 403, "The credential is valid, and its owner may not do this.", "Use a credential with the right that the message names."},
		{KindScope, CodeForbidden, 403, "The credential lacks the scope, or the authority, that the route needs.", "Use an API key with the scope that the message names."},
		{KindOrigin, CodeForbidden, 403, "A web page of another site opened the WebSocket or a session. While authentication is disabled, also for each other request of such a page, and for a host name that is not a loopback name.", "Send the request from a program or from the server's own pages, to 127.0.0.1 while authentication is disabled."},
		{KindOtherSandbox, CodeForbidden, 403, "A sandbox token was used on a route of another sandbox.", "Use the token of the sandbox in the path, or an API key."},
		{"not_found", CodeNotFound, 404, "The route, or the object that the path or body names, does not exist in the caller's organization.", "Check the ID."},
		{KindBeyondLastEvent, CodeNotFound, 404, "The range begins after the last event of the sandbox.", "Follow the events by a stream, and read ranges of stored events."},
		{KindNoFiles, CodeNotFound, 404, "The point of a comparison has neither a commit nor a checkpoint, for example because the task has no branch yet.", "Choose another point, or repeat later."},
		{KindPathNotFound, CodeNotFound, 404, "The file does not exist at the point, or does not differ between the points.", "Use a path of the list of changes."},
		{KindMethod, CodeNotFound, 405, "The route exists, and does not accept the method.", "Use a method that the OpenAPI document lists."},
		{KindRequestTimeout, CodeUnavailable, 408, "The body did not arrive completely, or not in time.", "Send the request again."},
		{"conflict", CodeConflict, 409, "The current state of the object does not allow the request.", "Read the object, then decide."},
		{KindInvalidState, CodeConflict, 409, "The object is in a state that does not allow the action, for example a task that has ended.", "Read the object: its status says which actions remain."},
		{KindImmutable, CodeConflict, 409, "The field cannot be changed, or not any more; the message says why.", "Leave the field out, or do what the message says."},
		{KindNoAgent, CodeConflict, 409, "The request names no agent, and no agent runtime works; the message says what each one lacks.", "Do what the message says, or name an agent."},
		{KindContinued, CodeConflict, 409, "The task has continued since its work was taken, so that a given checkpoint would replace newer work.", "Take the task again, and merge your work."},
		{KindDamaged, CodeConflict, 409, "The files of a checkpoint cannot be read: a pack is missing, damaged, or was refused by Git.", "Choose another checkpoint, or compare with a commit."},
		{KindCommitMissing, CodeConflict, 409, "The repository lacks a commit of the task, or omoi cannot read the repository; the message says why.", "Compare with a checkpoint, or do what the message says."},
		{KindFilesTooLarge, CodeConflict, 409, "A file, or the commits and packs of a point, are larger than the server compares.", "Fetch the branch, and run `git diff`."},
		{KindDuplicateWork, CodeConflict, 409, "An open task of the project describes nearly the same work; `duplicates` lists the candidates.", "Use the existing task, or set `force_create`."},
		{KindKeyReused, CodeConflict, 409, "The Idempotency-Key was used with another body.", "Use a new key for a new request."},
		{KindNameTaken, CodeConflict, 409, "Another object already has the name or the repository.", "Choose another name, or use the existing object."},
		{KindOpenTasks, CodeConflict, 409, "The project has tasks that have not ended, so that it cannot be deleted.", "Cancel these tasks, or wait for their end."},
		{KindSequenceGap, CodeConflict, 409, "A batch begins after the next expected event number; `acknowledged` is the last number that is stored.", "Send again from `acknowledged` + 1."},
		{KindMessageRejected, CodeConflict, 409, "The agent has ended, so that the message was stored and not delivered; `message_id` names its delivery status.", "Start another attempt, or create a task."},
		{KindQuestionClosed, CodeConflict, 409, "The question was answered, was cancelled with its task, or has expired; `question` has its state and the first answer.", "Read `question`: the first answer counts."},
		{"gone", CodeGone, 410, "The object existed, and has ended or was deleted.", "Do not repeat the request: the object does not return."},
		{KindSandboxDeleted, CodeGone, 410, "The sandbox is deleted; its token no longer opens anything.", "Stop reporting. Nothing more is accepted from this sandbox."},
		{KindDataRemoved, CodeGone, 410, "Retention has removed the data, or the cursor points before data that it removed; the message names the date.", "With a cursor: begin again without a cursor. Otherwise: do not repeat the request, the data does not return."},
		{KindBodyTooLarge, CodeInvalid, 413, "The body is longer, after decompression, than the limit that the message names.", "Send less; put long texts into the repository."},
		{KindContentType, CodeInvalid, 415, "The Content-Type or Content-Encoding is not supported.", "Send `application/json`, uncompressed or with gzip."},
		{"invalid", CodeInvalid, 422, "A field or parameter is missing, unknown or not valid; `errors` names each one.", "Correct the fields in `errors`."},
		{KindCheckpointLimit, CodeInvalid, 422, "The pack of a checkpoint is longer than 512 MiB, or the checkpoints of the task would have more bytes than `checkpoint.max_bytes` allows. What is stored stays.", "Ask an operator to raise `checkpoint.max_bytes`, or go on without newer checkpoints."},
		{KindInvalidCursor, CodeInvalid, 422, "The cursor was not issued by this server.", "Begin again without a cursor."},
		{"exhausted", CodeExhausted, 429, "A limit is reached.", "Wait at least as long as `Retry-After` says, then repeat."},
		{KindDiffTooLong, CodeExhausted, 429, "The diff is longer than the server returns.", "Fetch the branch, and run `git diff`."},
		{KindQueueFull, CodeExhausted, 429, "The agent has as many waiting messages, or the project as many tasks, as are allowed.", "Wait until some are done, then repeat."},
		{"internal", CodeInternal, 500, "omoi failed. The server's log has the details under the ID in `instance`.", "Report `instance` to the operator."},
		{KindUpstream, CodeUnavailable, 502, "GitHub or another service behind omoi failed.", "Repeat later."},
		{"unavailable", CodeUnavailable, 503, "A part of the server is not available for the moment.", "Repeat after `Retry-After`."},
		{KindDatabase, CodeUnavailable, 503, "The database does not answer, is busy or restarts.", "Repeat after `Retry-After`."},
		{KindDiskFull, CodeUnavailable, 503, "The disk of the database is full. Nothing that was acknowledged is lost.", "Free disk space on the database server."},
		{KindOverloaded, CodeUnavailable, 503, "Too many requests wait.", "Repeat after `Retry-After`."},
		{KindStopping, CodeUnavailable, 503, "The server is stopping.", "Repeat after `Retry-After`; another server answers."},
		{KindTimeout, CodeUnavailable, 503, "The request took longer than the server allows.", "Repeat after `Retry-After`."},
	}
}

// KindOf returns the kind of the first [Error] in err's chain, by default the kind of its code.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok && e.Kind != "" {
		return e.Kind
	}
	return Kind(CodeOf(err))
}
