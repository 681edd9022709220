// Package docker runs sandboxes as containers of a Docker engine.
//
// # Authority
//
// A sandbox is one container named by [task.SandboxName], with its labels and three volumes:
//
//	omoi-<id>              runs the agent: created by Ensure, started once by Start
//	omoi-<id>-exec-<rand>  one Exec: its own processes over the volumes of the first
//	omoi-<id>-omoi, -workspace, -home   what is written
//
// The engine is the only record of them; everything carries the labels omoi.installation,
// omoi.task, omoi.attempt and omoi.sandbox, and is ours only if all of them agree.
//
// A container that was started is never started again, so the agent runs once; its end ends
// its whole tree, since they share a process namespace. The sandbox stays until Delete: files
// and log of a stopped container can be read, and an Exec brings a container of its own.
//
// # Fences
//
// Config.StateDir holds a file for each sandbox: the lock of what makes and removes, and after
// a delete the tombstone. A create that comes after the delete finds it and is refused. The
// engine may still carry out a create of a worker that died: it is noted before it is asked
// for, and Delete does not answer that all is gone before such a create can no longer come.
// Hence LongestCreate is 0.
//
// # Secrets
//
// Arguments and environment of a command go into a file of the omoi volume that its shell
// reads and removes first, so they are in no inspection of the engine, label or command line.
//
// # Files
//
// Files go through the engine's archive calls, which resolve every path inside the container.
// This package looks at each part of a path and follows links only within one of the three
// trees. A file is replaced by the engine; a reader inside may see it half-written.
package docker
