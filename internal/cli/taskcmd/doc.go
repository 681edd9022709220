// Package taskcmd holds the commands with which a person works on tasks: run, ps, show, logs, transcript,
// diff, checkout, cancel, retry, sandboxes and keys. They are clients of the API and nothing more: all
// of them work against any server, and what they do anybody can do over HTTP.
package taskcmd
