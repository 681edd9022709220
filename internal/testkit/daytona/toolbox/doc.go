// Package toolbox is the daemon inside a sandbox of the Daytona stand-in: processes, shell
// sessions with their logs, and files, as Daytona's toolbox API has them.
//
// The daemon is the stand-in's own program, started again inside the sandbox with [Argument].
// It serves on a listener that it inherits, and does all its work with the rights of the
// sandbox: a link that leads out of it leads nowhere. It ends, with all that it started, when
// the pipe to the stand-in closes, so also when the stand-in is killed.
package toolbox
