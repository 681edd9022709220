// Package demo runs one real task from its acceptance to a sandbox that is verified gone, shows it
// line by line, and checks what it shows. The agent is scripted and says so; API, database, relay,
// workflow, branch, sandbox, events, pull request record and cleanup are the real ones.
package demo
