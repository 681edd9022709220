// Package place runs the local provider on another machine, one call a process: a provider that reaches the machine only by a shell sends a
// [Request] to the program there, which answers with an [Answer]. Sandboxes, their locks and tombstones, and their processes are those of the
// local provider, which expects that its caller dies at any time.
package place
