// Package temporal is the way to the Temporal server: it starts and signals the workflows
// of package contract, asks about their runs, and keeps the schedules, search attributes
// and namespace of an installation in order.
//
// Its errors carry the codes of package task, which is all that callers look at:
//
//	CodeNotFound     there is no such workflow, or its history is gone
//	CodeGone         the workflow has ended
//	CodeConflict     it is open already
//	CodeInvalid      the server will never take this request
//	CodeUnavailable  anything else: ask again later
package temporal
