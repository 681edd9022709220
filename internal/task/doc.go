// Package task is omoi's domain: tasks, attempts, events, their states, and the
// one function that judges what a fact means for a task. It imports the standard
// library only, and everything else points at it.
//
// The table of legal status changes ([CanMove]) and the judge ([Decide]) are the
// only places that know when a task may change; the workflow, the store and the
// API all ask here.
package task
