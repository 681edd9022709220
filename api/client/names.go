package client

import (
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/spec"
	"github.com/omoi-dev/omoi/internal/task"
)

// Errors.
type (
	// Error is what every call returns if the server refuses the request or does not answer; use [errors.As].
	Error = task.Error
	// Code classifies an [Error].
	Code = task.Code
	// Kind is the code of the error document, which says more exactly what failed; docs/ERRORS.md lists the kinds.
	Kind = task.Kind
)

// The codes of an [Error].
const (
	CodeInvalid      = task.CodeInvalid      // the request is wrong
	CodeUnauthorized = task.CodeUnauthorized // the key is missing or wrong
	CodeForbidden    = task.CodeForbidden    // the key does not permit the request
	CodeNotFound     = task.CodeNotFound     // the named thing does not exist
	CodeConflict     = task.CodeConflict     // the state does not permit the request
	CodeGone         = task.CodeGone         // the named thing was removed
	CodeExhausted    = task.CodeExhausted    // a limit is reached
	CodeUnavailable  = task.CodeUnavailable  // the server does not answer, or asks to try again later
	CodeInternal     = task.CodeInternal     // the server failed
)

// What a [Task] holds.
type (
	// Status is the stage of a task.
	Status = task.Status
	// Group is the group of a task in lists, for example needs_you.
	Group = task.Group
	// ForkedFrom names the checkpoint of another task with which a fork began.
	ForkedFrom = task.ForkedFrom
	// BlockedReason says why a pending task is suspended or blocked.
	BlockedReason = task.BlockedReason
	// FailureClass is the kind of a failure, which decides what follows.
	FailureClass = task.FailureClass
	// Reason is a condition as a code with its numbers.
	Reason = task.Reason
	// ReasonCode names a condition.
	ReasonCode = task.ReasonCode
	// CommandState is how far a command is.
	CommandState = task.Receipt
	// Validation is a verdict on the work of a task.
	Validation = task.Validation
	// TaskFeedback is the feedback on the pull request of a task.
	TaskFeedback = feedback.TaskFeedback
	// FeedbackItem is a review, a comment or a failed check.
	FeedbackItem = feedback.Item
	// FeedbackKind is the kind of a [FeedbackItem].
	FeedbackKind = feedback.Kind
	// FeedbackMode is what a project does about feedback.
	FeedbackMode = feedback.Mode
)

// The statuses of a task. The last three are final; see [Status.Final].
const (
	StatusPending           = task.StatusPending
	StatusAssigned          = task.StatusAssigned
	StatusRunning           = task.StatusRunning
	StatusPendingValidation = task.StatusPendingValidation
	StatusValidating        = task.StatusValidating
	StatusNeedsRevision     = task.StatusNeedsRevision
	StatusCompleted         = task.StatusCompleted
	StatusFailed            = task.StatusFailed
	StatusCancelled         = task.StatusCancelled
)

// Sandboxes and stored data.
type (
	// SandboxState is the state of a [Sandbox].
	SandboxState = task.SandboxState
	// Salvage is what was saved of a sandbox before its deletion.
	Salvage = task.Salvage
	// HostReason says why the sandboxes of a [Host] are there.
	HostReason = task.HostReason
	// Money is a cost of a receipt.
	Money = task.Money
	// AccessSession is an audited shell, command or copy in a sandbox.
	AccessSession = receipt.AccessSession
	// Storage says how many rows the server keeps of each [StorageKind].
	Storage = retention.Storage
	// StorageKind is a kind of stored data.
	StorageKind = retention.StorageKind
	// SpecPhaseStatus is the progress of a legacy spec execution.
	SpecPhaseStatus = spec.PhaseStatus
	// SpecState is the state of a legacy spec.
	SpecState = spec.State
)

// Supervision and credentials.
type (
	// ConductorDuplicate is a pair of tasks about the same work.
	ConductorDuplicate = conductor.Duplicate
	// GuardianCycle is one execution of the guardian.
	GuardianCycle = guardian.Cycle
	// EscalationLevel is how strongly the guardian steers.
	EscalationLevel = guardian.Level
	// Diagnosis is the stored root cause of a failure.
	Diagnosis = explain.Diagnosis
	// Evidence is what supports a [Diagnosis].
	Evidence = explain.Evidence
	// Delivery is how far the webhook of a [Diagnosis] is.
	Delivery = explain.Delivery
	// CredentialModels are the models that a credential is for.
	CredentialModels = credential.Models
	// CredentialRotation is the result of a rotation of the master key.
	CredentialRotation = credential.Rotation
	// CredentialTest is the result of the test of a credential.
	CredentialTest = credential.Test
)
