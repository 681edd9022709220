// Package toolbox is the daemon inside a sandbox of the Daytona emulator: processes, shell
// sessions with their logs, and files, as Daytona's toolbox API has them.
//
// The daemon is the emulator's own program, started again inside the sandbox with [Argument].
// It serves on a listener that it inherits, and does all its work with the rights of the
// sandbox: a link that leads out of it leads nowhere. It ends, with all that it started, when
// the pipe to the emulator closes, so also when the emulator is killed.
package toolbox
