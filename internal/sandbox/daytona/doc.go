// Package daytona runs sandboxes in Daytona's cloud, through its official Go clients.
//
// # Identity
//
// A sandbox is found by its name, [task.SandboxName], which Daytona keeps unique, and is ours
// only if all its labels agree. A create whose answer was lost is asked for by name; so is one
// that was refused, since Daytona may keep a failed sandbox. Daytona cannot fence a create that
// is still under way: Capabilities.LongestCreate says how late one may appear.
//
// # Inside
//
// Everything is below the home of Daytona's user: omoi, workspace. omoi/.ctl holds what the
// provider itself needs there:
//
//	lock    who runs the command: process and when it was born. Made once, for good
//	child   the command's process
//	exit    how it ended
//	log     its output, which [Provider.Log] reads
//	exec/   commands of Exec that are under way
//	tmp/    files that are being written
//
// The agent runs in a session of its own, asynchronously, under a script that takes the lock:
// a doubled start runs nothing. The environment comes in a file of mode 0600 that the script
// reads and removes: neither a command line, nor a label, nor the create request has a secret.
//
// # Process trees
//
// Every command gets a number of its own as its limit of resident memory, which Linux inherits
// and otherwise ignores, which no program can take off, and which /proc shows: so the tree of a
// command is found and ended, also where a part of it left its session and its environment.
//
// # What Daytona says
//
// A process in the sandbox does not count as activity for Daytona. The auto-stop is as long as
// the sandbox's life at most, and Inspect of a living agent pushes it out. Each look is otherwise
// told not to count. All times that Daytona is to wait by itself are last nets: omoi deletes, and
// reads back that the sandbox is gone.
package daytona
