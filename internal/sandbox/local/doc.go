// Package local runs sandboxes as isolated processes of this machine.
//
// # Authority
//
// A sandbox is one folder below Config.Root, named by [task.SandboxName]:
//
//	omoi-<id>/labels.json  what it is; written last, so a folder without it is half made
//	          life.lock    record locks of the processes that run things inside
//	          state.json   the command was started: boot id, processes, namespace
//	          exit.json    how it ended
//	          log          its output
//	          ws/ home/ omoi/ etc/   what is mounted inside; tmp/ without bubblewrap
//	.fences/omoi-<id>      the lock of every operation, and after a delete the tombstone
//	.trash/omoi-<id>       a sandbox that is dead and whose files are being removed
//
// The fence stands outside the folder, so it survives it: a create that comes after the
// delete finds the tombstone under the same lock and is refused. Hence LongestCreate is 0.
//
// # Processes
//
//	worker -> shim (own session, files as output) -> bubblewrap -> init -> command
//
// The shim belongs to nobody and survives the worker. It holds a record lock on life.lock
// from before the command exists until after the last process of it is reaped, so the
// kernel, asked who holds that lock, names the living shim: a process id is never trusted
// by itself. A second shim cannot take the lock, and one that finds state.json leaves: the
// command runs once. A shim that opened the lock of a folder which was meanwhile moved to
// the trash sees that the path is another's and leaves.
//
// The command's options, secrets among them, reach the shim by a pipe and bubblewrap by a
// memory file; neither a command line nor a file on disk ever holds them.
//
// # Walls
//
// Each part is tried by [New] and named in [sandbox.Sandbox].Isolation; docs/SECURITY.md says what
// it is for. The filter of system calls is made here and loaded by bubblewrap last of all. The
// shim sets the limits while the command is still held back, and counts what the folder holds.
//
// # Death
//
// If the shim is killed the kernel kills what is below it; nobody writes exit.json then,
// and Inspect says that its supervisor was killed. Without bubblewrap the shim is the reaper of orphans, walks
// its descendants and kills until the kernel says that it has no children. A delete looks
// for survivors by namespace, by the sandbox's own user id, by control group and by a mark
// in the environment, and says gone only if there are none. The kernel gives the number of a
// namespace to another as soon as it is free, so it counts only while its first process lives.
package local
