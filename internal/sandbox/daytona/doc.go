// Package daytona runs sandboxes in Daytona's cloud with its official Go clients.
//
// # Identity
//
// A sandbox has the name [task.SandboxName], which is unique at Daytona, and belongs to a task only if all its labels
// agree. After a create without an answer, or a rejected one, the provider looks the name up: Daytona may have
// created the sandbox, or keep a failed one. Daytona cannot fence an unanswered create. Capabilities.LongestCreate is
// the time in which the sandbox may still appear.
//
// # Files in the sandbox
//
// All files are below the home of Daytona's user: omoi and workspace. omoi/.ctl has the files of the provider:
//
//	lock    PID and start time of the script that runs the command; created once
//	child   PID of the command
//	exit    file with the exit code of the command
//	log     output of the command, which [Provider.Log] reads
//	exec/   running commands of Attach
//	tmp/    partially written files
//
// The agent runs asynchronously in its own session, under a script that takes the lock: a second start runs nothing.
// The environment is in a file of mode 0600 that the script reads and removes. No command line, label or create
// request contains a secret.
//
// # Process trees
//
// Each command runs with a random limit of resident memory. Child processes inherit the limit, Linux ignores it, only
// root can raise it, and /proc shows it. So the provider finds and kills all processes of a command, including those
// that left its session or changed their environment.
//
// # Auto-stop
//
// Daytona counts API requests as activity, and not the processes of a sandbox. The auto-stop interval is the lifetime
// of the sandbox. Inspect of a running agent resets its timer; other requests of the provider do not count as
// activity. These intervals are a safety net: omoi deletes sandboxes itself, and checks that they are absent.
package daytona
