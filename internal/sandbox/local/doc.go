// Package local runs sandboxes as isolated processes of this machine.
//
// # Files
//
// A sandbox is a folder below Config.Root, named by [task.SandboxName]:
//
//	omoi-<id>/labels.json  labels and limits; written last, so a folder without it is incomplete
//	          life.lock    record locks of the shims
//	          state.json   the command was started: boot ID, first process, PID namespace
//	          exit.json    how the command ended
//	          log          output of the command
//	          ws/ home/ omoi/ etc/   mounted in the sandbox; also tmp/ without bubblewrap
//	.fences/omoi-<id>      lock of every operation, and tombstone after a delete
//	.trash/omoi-<id>       a sandbox without processes whose files are being removed
//
// The fence is outside of the folder and survives it: a create after the delete finds the tombstone under the same
// lock and fails. Therefore [sandbox.Capabilities].LongestCreate is 0.
//
// # Processes
//
//	worker -> shim (own session, files as output) -> bubblewrap -> init -> command
//
// The shim has its own session and survives the worker. It holds a record lock on life.lock from before the start of
// the command until its last process is reaped. The kernel names the holder of the lock, and so the running shim: a
// PID alone is never trusted. A second shim cannot take the lock, and a shim that finds state.json exits, so the
// command runs once. A shim that has opened the lock of a folder which was then moved to the trash finds another file
// at the path, and exits.
//
// The shim gets the command by a pipe and bubblewrap its options by a memory file. Both contain secrets, so neither
// is on a command line or on disk.
//
// # Isolation
//
// [New] tests each isolation feature, and [sandbox.Sandbox].Isolation names those that work; docs/SECURITY.md
// describes them. This package builds the seccomp filter, and bubblewrap loads it last. The shim sets the limits
// before the command runs, and measures the disk use of the folder.
//
// # End
//
// If the shim is killed, the kernel kills its children. exit.json is then missing, and Inspect reports that the shim
// was killed. Without bubblewrap the shim is the parent of orphans. It kills its descendants until the kernel reports
// no child. A delete searches for remaining processes by PID namespace, user ID, control group and environment, and
// succeeds only if there is none. The kernel reuses the number of a namespace, so the number counts only while the
// first process runs.
package local
