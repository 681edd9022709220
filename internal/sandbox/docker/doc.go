// Package docker runs sandboxes as containers of a Docker engine.
//
// # Resources
//
// A sandbox is a container named by [task.SandboxName], with labels and three volumes:
//
//	omoi-<id>                           runs the agent; created by Ensure, started once by Start
//	omoi-<id>-omoi, -workspace, -home   the files of the sandbox
//
// Attach adds a container with a random name, which shares the volumes and has its own processes.
//
// The engine is the only record of sandboxes. All resources have the labels omoi.installation, omoi.task,
// omoi.attempt and omoi.sandbox. A resource belongs to a sandbox only if all of them agree.
//
// A container is started once, so the agent runs once. All its processes end with the first one, because they share a
// process namespace. The sandbox stays until Delete: its files and log remain readable, and Attach still works.
//
// # Fences
//
// Config.StateDir has a file for each sandbox. The file is the lock for create and delete, and the tombstone after a
// delete: a later create fails. The engine may carry out the create of a worker that died. Ensure records each create
// before it sends the request, and Delete returns an error until such a create can no longer come. Therefore
// [sandbox.Capabilities].LongestCreate is 0.
//
// # Secrets
//
// The arguments and the environment of a command are in a script in the omoi volume. The shell removes the script
// when it starts. No inspection of the engine, label or command line contains them.
//
// # Files
//
// File access uses the engine's archive calls, which resolve every path inside the container. This package checks
// each part of a path, and follows links only within one of the three trees. The engine overwrites files in place: a
// program in the sandbox may read a half-written file.
package docker
