// Package acpserver serves tasks to editors by the Agent Client Protocol: omoi acts as an agent that an editor starts. A session of the
// editor is a task, and after its completion the task that continues it. All state is at the server, except which tasks belong to a
// session; see [kept].
package acpserver
